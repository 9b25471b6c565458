//! The terminal screens: state, update and view apart, one file per screen.
