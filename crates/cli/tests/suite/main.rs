//! What a person does with the program, done through the program.

mod answers;
mod bad_input;
mod bags;
mod book;
mod checkm;
mod deposits;
mod help;
mod homes;
mod identify;
mod identify_forms;
mod logging;
mod ocfl_reading;
mod packaging;
mod program;
mod progress;
mod prompts;
mod receiving;
mod records;
mod reidentify;
mod retiring;
mod settings;
mod signatures;
mod status;
mod stores;
mod tables;
mod terminal;
