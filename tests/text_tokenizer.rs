//! The tokenizer through its public interface: which words a text has, and where they stand in it.

use std::ops::ControlFlow;

use bearsearch_core::tokenizer::{EXACT, MAX_TOKEN_BYTES, Mode, Token, tokenize, try_tokenize};
use proptest::{prelude::*, test_runner::RngSeed};
use unicode_normalization::{UnicodeNormalization, char::canonical_combining_class};

/// The tokens of a text, one word per position; what stands at the same position follows after `|`.
fn words(text: &str, mode: Mode) -> String {
    let mut shown = String::new();
    tokenize(text, mode, |token| {
        shown.push_str(if token.colocated { "|" } else { " " });
        shown.push_str(token.text);
        shown.push_str(if token.prefix { "*" } else { "" });
    });
    shown.trim_start().to_owned()
}

fn stored(text: &str) -> String {
    words(text, Mode::Document)
}

fn asked(text: &str) -> String {
    words(text, Mode::Query)
}

#[test]
fn plain_words_are_folded_and_punctuation_goes() {
    assert_eq!(stored("The Quick, (brown) FOX; jumps!"), "the quick brown fox jumps");
    assert_eq!(stored("Caroline's don't"), "caroline s don t");
    assert_eq!(stored("  \n\t--- *** "), "");
    assert_eq!(stored(""), "");
}

#[test]
fn accents_case_and_width_do_not_matter() {
    for (left, right) in [
        ("Châtelier", "chatelier"),
        ("Cha\u{302}telier", "chatelier"),
        ("GRÖSSE", "größe"),
        ("Smørrebrød", "smorrebrod"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
        ("ΣΊΣΥΦΟΣ", "σισυφος"),
        ("ﬁnanz", "finanz"),
        ("Ｗｉｄｅ", "wide"),
        ("soft\u{ad}hyphen zero\u{200d}joiner", "softhyphen zerojoiner"),
        ("أحمد", "احمد"),
        ("الكتاب والكتاب", "كتاب كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("か\u{3099}いど", "がいど"),
        ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
        ("١٢٣ १२३ ๑๒๓", "123 123 123"),
    ] {
        assert_eq!(stored(left), stored(right), "{left}");
    }
}

#[test]
fn identifiers_are_kept_whole_and_split() {
    assert_eq!(stored("snake_case"), "snake|snakecase case");
    assert_eq!(stored("foo-bar"), "foo|foobar bar");
    assert_eq!(stored("camelCase"), "camelcase|camel|case");
    assert_eq!(stored("HTTPServer2"), "httpserver2|http|server|2");
    assert_eq!(stored("a/b.c"), "a b|bc c");
    assert_eq!(stored("src/get_userName-v2.rs"), "src get|getusernamev2rs username|user|name v2|2 rs");
    assert_eq!(stored("wi-fi e-mail U.S."), "wi|wifi fi e|email mail u|us s");
    assert_eq!(stored("__init__ --flag .hidden end."), "init flag hidden end");
    assert_eq!(stored("C++ c# F# notepad++ a+b ab#c"), "c|c++ c|c# f|f# notepad|notepad++ a b ab c");
}

#[test]
fn numbers_versions_and_dates_keep_what_makes_them_different() {
    assert_eq!(stored("v2026.4.10"), "v2026|v2026.4.10|2026 4 10");
    assert_eq!(stored("3.14 2024-05-01"), "3|3.14 14 2024|2024-05-01 05 01");
    assert_eq!(stored("1,500 10,30 1,500,000 1'000"), "1|1500 500 10 30 1|1500000 500 000 1|1000 000");
    assert_eq!(stored("BENCH-100821 mp3 h2o"), "bench|bench100821 100821 mp3|mp|3 h2o|2");
}

#[test]
fn codes_and_endless_words_are_not_taken_apart() {
    assert_eq!(stored("9f86d081884c7d65"), "9f86d081884c7d65");
    let long = "aB".repeat(20_000);
    assert_eq!(stored(&long), "ab".repeat(MAX_TOKEN_BYTES / 2));
    let chain = "a-".repeat(100_000);
    let mut count = 0;
    tokenize(&chain, Mode::Document, |token| count += usize::from(!token.colocated));
    assert_eq!(count, 100_000);
}

#[test]
fn scripts_without_blanks_become_overlapping_grams() {
    assert_eq!(stored("東京都"), "東京 京都 都");
    assert_eq!(asked("東京都"), "東京 京都");
    assert_eq!(asked("東"), "東*");
    assert_eq!(stored("水"), "水");
    assert_eq!(stored("한국어 학교"), "한국 국어 어 학교 교");
    assert_eq!(stored("ภาษาไทย"), "ภาษ าษา ษาไ าไท ไทย ทย ย");
    assert_eq!(asked("ไท"), "ไท*");
    assert_eq!(stored("漢字とKanji2つ"), "漢字 字と と kanji2|kanji|2 つ");
}

#[test]
fn vowel_signs_belong_to_their_words() {
    assert_eq!(stored("हिन्दी भाषा"), "हिन्दी भाषा");
    assert_eq!(stored("தமிழ் மொழி").nfc().collect::<String>(), "தமிழ் மொழி");
    assert_eq!(stored("न\u{200d}म"), "नम");
}

#[test]
fn emoji_and_flags_are_words() {
    assert_eq!(stored("go 🚀🚀 now"), "go 🚀 🚀 now");
    assert_eq!(stored("👍🏽 ❤️"), "👍 ❤");
    assert_eq!(stored("👩‍💻"), "👩💻");
    assert_eq!(stored("🇩🇪🇫🇷"), "🇩🇪 🇫🇷");
    assert_eq!(stored("1️⃣"), "1");
}

#[test]
fn an_exact_query_is_taken_as_it_stands() {
    assert_eq!(asked(&format!("{EXACT}c++")), "c++");
    assert_eq!(asked(&format!("{EXACT}2026.4.10")), "2026.4.10");
    assert_eq!(asked(&EXACT.to_string()), "");
    assert_eq!(stored(&format!("{EXACT}c++")), "c|c++");
}

#[test]
fn ranges_are_those_of_the_original_text() {
    let text = "Cafe\u{301}s — größeRäume_2 の東京";
    let mut found = Vec::new();
    tokenize(text, Mode::Document, |token| found.push((token.text.to_owned(), &text[token.start..token.end])));
    let expected = [
        ("cafes", "Cafe\u{301}s"),
        ("grosseraume", "größeRäume"),
        ("grosseraume2", "größeRäume_2"),
        ("grosse", "größe"),
        ("raume", "Räume"),
        ("2", "2"),
        ("の東", "の東"),
        ("東京", "東京"),
        ("京", "京"),
    ];
    assert_eq!(found, expected.map(|(token, range)| (token.to_owned(), range)));
}

#[test]
fn tokenizing_stops_when_asked() {
    let mut count = 0;
    let stopped = try_tokenize("one two three", Mode::Document, |token: Token<'_>| {
        count += 1;
        if token.text == "two" { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!((stopped, count), (ControlFlow::Break("enough"), 2));
}

fn any_text() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9_.,'+#-]{0,30}",
        "[가-힣ㄱ-ㅎ東京都ぁ-ヶｱ-ﾟ\u{3099}ก-๛]{0,20}",
        "[äöüßøæłİıёйأإآةىـًُ\u{300}-\u{310}\u{200b}-\u{200d}\u{ad}]{0,20}",
        "[🚀🇩🇪👩💻\u{200d}\u{fe0f}🏽]{0,12}",
    ];
    proptest::collection::vec(parts, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(2026),
        ..ProptestConfig::default()
    })]

    #[test]
    fn tokens_of_any_text_have_exact_ranges_and_come_in_order(text in any_text()) {
        for mode in [Mode::Document, Mode::Query] {
            let (mut last, mut first) = (0, true);
            tokenize(&text, mode, |token| {
                assert!(!token.text.is_empty() && token.text.len() <= MAX_TOKEN_BYTES);
                assert!(token.start < token.end && token.end <= text.len());
                assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
                assert!(!token.prefix || mode == Mode::Query);
                assert!(!(first && token.colocated), "a token at the position of none");
                if !token.colocated {
                    assert!(token.start >= last, "{} < {last}", token.start);
                    last = token.start;
                }
                first = false;
            });
        }
    }

    #[test]
    fn whatever_is_cut_out_of_a_text_by_a_token_is_found_again(text in any_text()) {
        // The word, asked for as it is written, makes a token that is stored.
        tokenize(&text, Mode::Document, |token| {
            if !token.colocated {
                let written = &text[token.start..token.end];
                let mut found = false;
                tokenize(written, Mode::Query, |asked| {
                    found |= if asked.prefix { token.text.starts_with(asked.text) } else { token.text == asked.text };
                });
                assert!(found, "{written:?} stored as {:?}, asked as {:?}", token.text, asked(written));
            }
        });
    }

    #[test]
    fn a_stored_term_asked_for_exactly_is_one_token(text in any_text()) {
        tokenize(&text, Mode::Document, |token| {
            assert_eq!(asked(&format!("{EXACT}{}", token.text)), token.text);
        });
    }

    #[test]
    fn composed_and_decomposed_texts_have_the_same_words(text in any_text()) {
        let plain = |text: &str| {
            let mut tokens = Vec::new();
            tokenize(text, Mode::Document, |token| if !token.colocated { tokens.push(token.text.to_owned()) });
            tokens
        };
        // Normalization reorders marks drawn through a letter; no living script has them beside others.
        let text: String = text.chars().filter(|c| !(1..7).contains(&canonical_combining_class(*c))).collect();
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(plain(&text.nfc().collect::<String>()), plain(&decomposed));
    }
}
