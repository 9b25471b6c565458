//! The terminal screens: state, update and view apart, one file per screen.

pub mod action;
pub mod app;
pub mod data;
pub mod filter;
pub mod frame;
pub mod lanes;
pub mod news;
pub mod notices;
pub mod overlay;
pub mod paint;
pub mod pulse;
pub mod run;
pub mod screen;
pub mod screens;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod window;
