//! Whether a query names what it looks for or says it in its own words: names stand in a note as they were typed, a
//! description seldom does. Judged by the query's look alone; no index, no list of words, no language.

use super::{Query, Term};
use crate::script::counts_by_character;

/// A query of no more words than these gives them for what stands in the note.
const FEW_WORDS: usize = 3;
/// Characters of scripts without spaces that make about a word.
const CHARS_PER_WORD: usize = 2;

/// How a query says what it looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wording {
    /// In words of its own: a question, a description.
    #[default]
    Described,
    /// By words that stand in the note: a few of them, a phrase in quotes, a name, a number, an identifier.
    Named,
}

/// How `query` says what it looks for.
pub fn wording(query: &Query) -> Wording {
    let terms: Vec<&Term> = query.terms().into_iter().filter(|term| term.is_worded()).collect();
    // Where all is written in capitals, capitals say nothing.
    let has_case = terms.iter().any(|term| term.text.chars().any(char::is_lowercase));
    let mut begins = true;
    let mut words = 0;
    for term in terms {
        if term.quoted || term.prefix || term.in_title {
            return Wording::Named;
        }
        if is_identifier(&term.text) || (has_case && is_name(&term.text, begins)) {
            return Wording::Named;
        }
        begins = term.written.ends_with(['.', '?', '!', ':', '。', '？', '！']);
        words += word_count(&term.text);
    }
    if words <= FEW_WORDS { Wording::Named } else { Wording::Described }
}

/// Whether a word is written like a name: with a capital where no sentence begins, or in capitals.
fn is_name(word: &str, begins_a_sentence: bool) -> bool {
    // What stands before an apostrophe can be a pronoun or an article: `I'm`, `L'Oréal`.
    let word = match word.split_once(['\'', '’']) {
        Some((before, behind)) if before.chars().count() == 1 => behind,
        _ => word,
    };
    let mut chars = word.chars();
    let (Some(first), Some(_)) = (chars.next(), chars.next()) else { return false };
    let is_acronym = !word.chars().any(char::is_lowercase);
    first.is_uppercase() && (is_acronym || !begins_a_sentence)
}

/// Whether a word is made like those of machines: `snake_case`, `camelCase`, `v2`, `a.b`, `src/lib`, `me@home`.
fn is_identifier(word: &str) -> bool {
    let has_joint = word.contains(|c: char| c.is_numeric() || matches!(c, '_' | '.' | '/' | '\\' | '@' | ':'));
    let has_hump = || word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    has_joint || has_hump()
}

fn word_count(term: &str) -> usize {
    match term.chars().filter(|c| counts_by_character(*c)).count() {
        0 => 1,
        chars => chars.div_ceil(CHARS_PER_WORD),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::query::parse;

    fn of(text: &str) -> Wording {
        wording(&parse(text, date(2026, 1, 1)))
    }

    #[test]
    fn a_question_or_a_description_says_it_in_words_of_its_own() {
        for text in [
            "how do I keep the laptop awake while a long job finishes",
            "What did we decide about the kitchen? Which colour was it",
            "EFFORTS OF THE AMBASSADOR TO GET THE TROOPS OUT",
            "I'm looking for bread that stays fresh",
            "猫为什么喜欢在箱子里睡觉",
        ] {
            assert_eq!(of(text), Wording::Described, "{text}");
        }
    }

    #[test]
    fn a_name_a_number_an_identifier_or_a_phrase_in_quotes_names_it() {
        for text in [
            "when did Caroline move to the new flat",
            "which talks about GPU memory did we like",
            "what were the plans for the summer of 1969",
            "why does git_push_default fail on the server",
            "where is parseHeader called in the old code",
            "why is src/lib.rs so slow to build",
            "who said \"the cat sat\" in the long meeting",
            "what does she think of L'Oréal these days",
        ] {
            assert_eq!(of(text), Wording::Named, "{text}");
        }
    }

    #[test]
    fn a_few_words_are_what_stands_in_the_note() {
        for text in ["sourdough", "tax return deadline", "tag:work earplugs night train", "猫 箱子", ""] {
            assert_eq!(of(text), Wording::Named, "{text}");
        }
        assert_eq!(of("tax return deadline of last year"), Wording::Described);
    }
}
