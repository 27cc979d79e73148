//! Labels, headings and definitions of reports.
