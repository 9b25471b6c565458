// A second client on the same account: the official SDK, which knows nothing of our record.
// Arguments: where the SDK is, port, how many groups. In every third group it pays with our key, in every third without any
// key, and the others it only lists.
const [sdk, port, groups] = process.argv.slice(2);
const loaded = require(sdk);
const Stripe = loaded.default ?? loaded;
const stripe = new Stripe("rk_test_secondSECOND1", { host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: 0 });

(async () => {
  let made = 0;
  for (let n = 0; n < Number(groups); n += 1) {
    const order = `sdk-${n}`;
    const wanted = { amount: 4200, currency: "eur", destination: "acct_shopOne", transfer_group: order };
    if (n % 3 === 0) {
      await stripe.transfers.create(wanted, { idempotencyKey: `transfer-${order}-v0` });
      made += 1;
    } else if (n % 3 === 1) {
      await stripe.transfers.create(wanted);
      made += 1;
    }
    let listed = 0;
    for await (const transfer of stripe.transfers.list({ transfer_group: order })) listed += transfer.amount > 0 ? 1 : 0;
    if (n % 3 !== 2 && listed === 0) throw new Error(`${order} is not in the list`);
  }
  console.log(`made ${made}`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
