//! the small port through which queue and registry reach a SQL database
