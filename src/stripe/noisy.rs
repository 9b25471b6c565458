//! Events in text of many kinds: one JSON object, JSON lines, an array, Stripe's list object, or what `stripe listen`
//! printed, with other lines in between. Every event's bytes stay as they are.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::value::RawValue;

/// One event and the line it begins on (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it begins.
    pub line: u64,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// Reads events from text, a value at a time: only one value is in memory.
pub struct Events<R> {
    input: R,
    line: u64,
    value: Vec<u8>,
    began: u64,
    depth: u32,
    in_string: bool,
    escaped: bool,
    rest: Vec<u8>,
    ready: std::collections::VecDeque<Found>,
}

impl<R: BufRead> Events<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            value: Vec::new(),
            began: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            rest: Vec::new(),
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Follows brackets and strings through a line; what is between values on it is passed over.
    fn feed(&mut self, line: &[u8]) {
        for (at, &byte) in line.iter().enumerate() {
            if self.depth == 0 {
                if !matches!(byte, b'{' | b'[') {
                    // Other text begins: nothing else on this line is a value.
                    if byte.is_ascii_whitespace() || matches!(byte, b',' | 0xef | 0xbb | 0xbf) {
                        continue;
                    }
                    self.rest.clear();
                    return;
                }
                self.began = self.line;
            }
            self.value.push(byte);
            self.step(byte);
            if self.depth == 0 {
                self.complete();
                self.rest = line.get(at + 1..).unwrap_or_default().to_vec();
                return;
            }
        }
        self.rest.clear();
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
    }

    fn complete(&mut self) {
        let value = std::mem::take(&mut self.value);
        let line = self.began;
        let mut add = |body: &[u8]| self.ready.push_back(Found { line, body: body.to_vec() });
        if value.first() == Some(&b'[') {
            match serde_json::from_slice::<Vec<&RawValue>>(&value) {
                Ok(items) => items.into_iter().for_each(|item| add(item.get().as_bytes())),
                Err(_) => add(&value),
            }
            return;
        }
        #[derive(Deserialize)]
        struct List<'a> {
            object: &'a str,
            #[serde(borrow)]
            data: Vec<&'a RawValue>,
        }
        match serde_json::from_slice::<List<'_>>(&value) {
            Ok(list) if list.object == "list" => list.data.into_iter().for_each(|item| add(item.get().as_bytes())),
            _ => add(&value),
        }
    }
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = io::Result<Found>;

    fn next(&mut self) -> Option<io::Result<Found>> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Some(Ok(found));
            }
            if !self.rest.is_empty() {
                let rest = std::mem::take(&mut self.rest);
                self.feed(&rest);
                continue;
            }
            let mut line = Vec::new();
            match self.input.read_until(b'\n', &mut line) {
                Ok(0) if self.value.is_empty() => return None,
                Ok(0) => {
                    // The text ends inside a value: it is handed out as it is, to be refused with its line.
                    let body = std::mem::take(&mut self.value);
                    self.depth = 0;
                    return Some(Ok(Found { line: self.began, body }));
                }
                Ok(_) => {
                    self.line += 1;
                    self.feed(&line);
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u64, String)> {
        let events = Events::new(text.as_bytes()).map(|f| f.unwrap());
        events.map(|f| (f.line, String::from_utf8(f.body).unwrap())).collect()
    }

    #[test]
    fn every_shape_gives_its_events_byte_for_byte() {
        let (a, b) = (r#"{"id":"evt_a","t":"{[\"}"}"#, "{\n  \"id\": \"evt_b\"\n}");
        assert_eq!(read(a), [(1, a.to_owned())]);
        assert_eq!(read(&format!("{a}\n{b}\n{a}")), [(1, a.to_owned()), (2, b.to_owned()), (5, a.to_owned())]);
        assert_eq!(read(&format!("[{a},\n{b}]")), [(1, a.to_owned()), (1, b.to_owned())]);
        assert_eq!(read(&format!("{{\"object\":\"list\",\"data\":[{a}],\"has_more\":false}}")), [(1, a.to_owned())]);
        assert_eq!(read(&format!("\u{feff}{a}{a}")), [(1, a.to_owned()), (1, a.to_owned())]);
        let noisy =
            format!("Ready! {{secret}}\n2026-01-01 10:00:00   --> payout.paid [evt_a]\n{a}\n <-- [200] POST\n{b}\n");
        assert_eq!(read(&noisy), [(3, a.to_owned()), (5, b.to_owned())]);
        assert_eq!(read("{\"id\":\"evt_a\""), [(1, "{\"id\":\"evt_a\"".to_owned())]);
        assert!(read("").is_empty());
    }
}
