//! The query language through its front door: what is understood, and that FTS5 and the index take whatever comes out.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bearsearch_core::{
    names, query,
    query::{Match, Query},
    schema,
    scope::{Condition, Filters, Scope},
    store,
};
use jiff::civil::{Date, date};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use rusqlite::{Connection, params};

const TODAY: Date = date(2026, 5, 15);

fn parse(text: &str) -> Query {
    query::parse(text, TODAY)
}

fn any_word(text: &str) -> String {
    query::fts_match(&parse(text), Match::Any).unwrap_or_default()
}

fn all_words(text: &str) -> String {
    query::fts_match(&parse(text), Match::All).unwrap_or_default()
}

fn filters(text: &str) -> Filters {
    query::filters(&parse(text), &Filters { sources: vec![1, 2], ..Filters::default() })
}

fn words(text: &str) -> Vec<String> {
    query::plain_words(&parse(text))
}

fn midnight_ms(date: Date) -> Option<i64> {
    Some(jiff::tz::TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).unwrap().as_millisecond())
}

// -------------------------------------------------------------------- an index to ask

/// A note of the test index: title, text, tags, source, and the day when it was changed.
struct Note {
    title: &'static str,
    text: &'static str,
    tags: &'static [&'static str],
    source: i64,
    updated: Option<Date>,
    archived: bool,
    pinned: bool,
}

const NOTE: Note =
    Note { title: "", text: "", tags: &[], source: 1, updated: Some(date(2026, 1, 1)), archived: false, pinned: false };

/// The index's own tables, with one chunk per note; row ids count from 1. Source 1 is "Vault", source 2 "Ärzte".
fn index(notes: &[Note]) -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    store::register_tokenizer(&conn).unwrap();
    let tx = conn.transaction().unwrap();
    schema::create(&tx).unwrap();
    for (id, name) in [(1, "Vault"), (2, "Ärzte")] {
        let sql = "INSERT INTO sources (id, kind, path, name, registered) VALUES (?1, 'markdown', ?2, ?2, 1)";
        tx.execute(sql, params![id, name]).unwrap();
    }
    for (id, note) in (1i64..).zip(notes) {
        tx.execute(
            "INSERT INTO documents (id, source_id, external_id, mark, content_hash, title, folded_title, updated_at_ms,
             archived, pinned, locked) VALUES (?1, ?2, ?1, x'', x'', ?3, ?3, ?4, ?5, ?6, 0)",
            params![id, note.source, note.title, note.updated.and_then(midnight_ms), note.archived, note.pinned],
        )
        .unwrap();
        tx.execute("INSERT INTO texts (id, hash) VALUES (?1, ?1)", [id]).unwrap();
        tx.execute(
            "INSERT INTO chunks (id, document_id, ordinal, heading, start_byte, end_byte, start_line, end_line, text_id)
             VALUES (?1, ?1, 0, '', 0, ?2, 1, 1, ?1)",
            params![id, note.text.len() as i64],
        )
        .unwrap();
        let tags = note.tags.join("\n");
        let sql = "INSERT INTO words (rowid, title, heading, body, tags) VALUES (?1, ?2, '', ?3, ?4)";
        tx.execute(sql, params![id, note.title, note.text, tags]).unwrap();
        for tag in note.tags {
            let sql = "INSERT INTO tags (name, folded) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            tx.execute(sql, params![tag, names::fold(tag)]).unwrap();
            let sql = "INSERT INTO document_tags SELECT ?1, id FROM tags WHERE folded = ?2";
            tx.execute(sql, params![id, names::fold(tag)]).unwrap();
        }
    }
    tx.commit().unwrap();
    conn
}

/// Ids of the notes that the filters leave.
fn in_scope(conn: &Connection, filters: &Filters) -> rusqlite::Result<Vec<i64>> {
    let scope = Scope::new(filters);
    let sql = format!("SELECT d.id FROM documents d WHERE {} ORDER BY d.id", scope.condition());
    let mut statement = conn.prepare(&sql)?;
    statement.query_map(rusqlite::params_from_iter(scope.parameters()), |row| row.get(0))?.collect()
}

fn found(conn: &Connection, text: &str) -> Vec<i64> {
    in_scope(conn, &filters(text)).unwrap()
}

/// Row ids that match in `table`.
fn matching(conn: &Connection, table: &str, expression: &str) -> rusqlite::Result<Vec<i64>> {
    let mut statement = conn.prepare_cached(&format!("SELECT rowid FROM {table} WHERE {table} MATCH ?1"))?;
    statement.query_map([expression], |row| row.get(0))?.collect()
}

/// The tables that expressions must suit: the index's own words, and the same columns by trigrams.
fn tables() -> Connection {
    let conn = index(&[Note { title: "zebra plan", text: "the quick zebra: don't panic", ..NOTE }]);
    conn.execute_batch("CREATE VIRTUAL TABLE parts USING fts5 (title, heading, body, tags, tokenize = 'trigram')")
        .unwrap();
    conn.execute("INSERT INTO parts (title, body) VALUES ('zebra plan', 'the quick zebra: don''t panic')", []).unwrap();
    conn
}

/// What must hold of any text whatsoever.
fn check(conn: &Connection, text: &str) {
    let shown: String = text.chars().take(200).collect();
    let query = parse(text);
    let words = query::plain_words(&query);
    let embedded = query::embedding_text(&query);
    for word in &words {
        assert!(embedded.contains(word.as_str()), "{word:?} of {shown:?} is not in the text to embed");
    }
    for how in [Match::Any, Match::All] {
        let expression = query::fts_match(&query, how);
        assert_eq!(
            expression.is_some(),
            !words.is_empty(),
            "{shown:?} has the words {words:?} and means {expression:?}"
        );
        let Some(expression) = expression else { continue };
        for table in ["words", "parts"] {
            let hits = matching(conn, table, &expression)
                .unwrap_or_else(|error| panic!("{shown:?} means {expression}: {error}"));
            if how == Match::Any && words.iter().any(|word| word == "zebra") {
                assert_eq!(hits, [1], "{shown:?} means {expression}");
            }
        }
    }
    let filters = query::filters(&query, &Filters { sources: vec![1], ..Filters::default() });
    in_scope(conn, &filters).unwrap_or_else(|error| panic!("{shown:?} means {filters:?}: {error}"));
    assert_eq!(query.is_empty(), words.is_empty() && !query::has_filters(&query), "{shown:?}");
    assert!(!query.is_empty() || !text.contains(char::is_alphanumeric), "{shown:?} is empty");
    assert!(!query::explain(&query).is_empty());
}

/// Runs a property with a fixed seed; PROPTEST_CASES asks for more cases.
fn property<S: Strategy>(strategy: &S, test: impl Fn(S::Value)) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3000);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let test = |value| {
        test(value);
        Ok(())
    };
    if let Err(error) = runner.run(strategy, test) {
        panic!("{error}");
    }
}

// -------------------------------------------------------------------- any text

/// Pieces that mean something somewhere in the language, in FTS5 or in SQL.
// Packed by hand: one string to a line would be all that is seen of this file.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "zebra", "Zebra", "plan", "quick", "a", "5", "ß", "é", "e\u{301}", "猫", "日本語", "🎉", "👩\u{200d}👧", "क्षि", "ไทย",
    "שלום", "AND", "OR", "NOT", "NEAR", "and", "or", "not", "-", "--", "−", "+", "*", "**", "^", "\"", "\"\"", "'",
    "’", "“", "”", "„", "«", "»", "「", "」", "`", "(", ")", "（", "）", "[", "]", "{", "}", "#", "##", "＃", ":", "：",
    "::", ",", "，", "。", ";", "…", "?", "!", "/", "\\", "|", "&", "=", "<", ">", "~", "@", "$", "%", "_", ".", "..",
    "tag:", "tag:work", "#work", "#two words#", "title:", "title:plan", "in:", "in:vault", "is:", "is:archived",
    "is:pinned", "after:", "after:2024", "before:yesterday", "created:2024..2025", "updated:>30d", "prop:a=b",
    "prop:", "foo:bar", "10:30", "http://x.y/z?q=1", "don't", "foo-bar", "snake_case", "\0", "\n", "\t", "\r\n",
    "\u{200b}", "\u{200f}", "\u{202e}", "\u{feff}", "\u{ad}", "\u{7f}", "\u{e000}",
];

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "\\PC{0,12}",
        1 => "[a-zA-Z0-9äöüÄÖÜ_.-]{1,10}",
    ];
    let spaced = (piece, prop::bool::weighted(0.6)).prop_map(|(piece, space)| if space { piece + " " } else { piece });
    prop::collection::vec(spaced, 0..20).prop_map(|pieces| pieces.concat())
}

#[test]
fn any_text_makes_valid_expressions_and_filters_and_finds_its_words() {
    let conn = tables();
    property(&any_text(), |text| check(&conn, &text));
}

#[test]
fn a_plain_word_is_searched_whatever_stands_around_it() {
    // Neither quotes, brackets nor negations, which may claim the word for themselves.
    let around = "[a-zäß猫0-9 .,;?!_=+|&<>~@$%/\\\\{}\u{0}\u{200f}🎉]{0,16}( OR| AND)?";
    let conn = tables();
    property(&(around, around), |(before, after)| {
        let text = format!("{before} zebra {after}");
        assert!(words(&text).iter().any(|word| word == "zebra"), "{text:?} looks for {:?}", words(&text));
        check(&conn, &text);
    });
}

#[test]
fn odd_queries_of_real_people_are_searched() {
    let conn = tables();
    #[rustfmt::skip]
    let odd_queries = [
        "", " ", "\0", "\u{200f}", "-", "--", "---", "\"", "\"\"", "\"\"\"", "'", "*", "**", "#", "# ", "##", "()",
        "(", ")", "(()", ":", "::", "AND", "OR", "NOT", "AND OR NOT", "NEAR(a b)", "a NEAR/5 b", "^zebra", "zebra^2",
        "{title body}: x", "title:", "tag:", "tag:\"", "tag:\"\"", "tag:#", "in:", "-tag:", "-#", "-\"", "-(", "-()",
        "(-)", "-(a", "NOT (", "NOT", "a NOT", "(a OR", "(a OR )", "a OR ()", "a AND", "tier1-test AND unicode",
        "BENCH-100821", "don't", "rock 'n' roll", "O’Reilly", "5\" disk", "13\" or 15\" laptop", "what's \"the",
        "C++ vs C#", "c:\\windows\\system32", "~/.bashrc", "$HOME/bin", "a@b.example", "https://x.org/?a=b&c=d#e",
        "SELECT * FROM notes; DROP TABLE notes;--", "'; DROP TABLE documents; --", "x' OR '1'='1",
        "<script>alert(1)</script>", "fn main() { println!(\"hi\"); }", "if (a && b) || !c", "a->b", "a=>b",
        "[[Wiki Link]]", "[a](b)", "- [ ] task", "* item", "> quote", "| a | b |", "```rust", "`code`", "$$x^2$$",
        "**bold** _it_ ==mark==", ":-)", "¯\\_(ツ)_/¯", "100%", "50 %", "3.14", "1,000", "-5 °C", "2026.4.10",
        "10:30", "12/24", "日本語", "「引用」", "猫、犬", "한국어 검색", "ไทย", "मराठी", "עברית", "العربية؟",
        "\u{200f}עברית\u{200f}", "ẞtraße", "👩‍👩‍👧‍👦 family", "🎉", "🎉 OR 🎂", "e\u{301}", "\u{301}", "\u{301}\u{301}",
        "\u{e000}", "zebra\0panic", "zebra\u{1}panic", "a\u{ad}b",
    ];
    for text in odd_queries {
        check(&conn, text);
    }
}

#[test]
fn very_long_queries_are_read_in_time_linear_in_their_length() {
    // Were any of these quadratic, the test would run for many minutes instead of seconds.
    let conn = tables();
    #[rustfmt::skip]
    let repeated = [
        "\0", "a", "猫", "a ", "\"", "“", "“a ", "\"a\" ", "\" ", "(", "(a ", ")", "()", "-(", "-a ", "-", "NOT ",
        "a OR ", "a AND ", "#", "#a ", "#a b ", "tag:“", "created:“x ", "prop:a=“", "title:“", "tag:", "tag:a OR b ",
        "in:x ", "a.", "a,", "，", "a…", "*", "a* ", "-(a b) ", "is:x ", "🎉", "e\u{301}", "\u{200f}", "(a OR ", "-“",
        "' ", "after:2024 ", "-tag:a ",
    ];
    for piece in repeated {
        check(&conn, &piece.repeat(100_000 / piece.len()));
    }
    for megabyte in [PIECES.concat().repeat(2000), PIECES.join(" ").repeat(2000), "\0".repeat(1_000_000)] {
        check(&conn, &megabyte);
    }
    let distinct: String = (0..15_000).map(|number| format!("w{number} ")).collect();
    check(&conn, &distinct);
    check(&conn, &format!("zebra {}", distinct.replace(' ', " AND ")));
    check(&conn, &format!("tag:a OR {}", distinct.replace(' ', " OR ")));
    check(&conn, &format!("zebra -({distinct})"));
    check(&conn, &format!("\"{distinct}\""));
}

// -------------------------------------------------------------------- words

#[test]
fn words_are_alternatives_or_all_needed_as_the_caller_wants() {
    assert_eq!(any_word("weekend hiking"), r#""weekend" OR "hiking""#);
    assert_eq!(all_words("weekend hiking"), r#""weekend" "hiking""#);
    assert_eq!(any_word("rust Rust RUST"), r#""rust""#);
    assert_eq!(query::fts_match(&parse("tag:work"), Match::Any), None);
    assert_eq!(query::fts_match(&parse("-draft"), Match::All), None);
}

#[test]
fn phrases_are_taken_in_the_quotes_of_many_languages() {
    #[rustfmt::skip]
    let two_words_quoted = [
        "\"two words\"", "“two words”", "„two words“", "„two words”", "”two words”", "«two words»", "»two words«",
        "「two words」", "« two  words »",
    ];
    for text in two_words_quoted {
        assert_eq!(words(text), ["two words"], "{text}");
        assert_eq!(any_word(text), r#""two words""#, "{text}");
    }
    assert_eq!(any_word("\"annual repo\"*"), r#""annual repo" *"#);
    assert_eq!(any_word(r#""a "quoted" b"#), r#""a" OR "quoted" OR "b""#);
}

#[test]
fn quotes_without_partner_and_inside_words_are_text() {
    assert_eq!(words("say \"hello world"), ["say", "hello", "world"]);
    assert_eq!(words("13\" or 15\" laptop"), ["13", "or", "15", "laptop"]);
    assert_eq!(words("it's O’Reilly’s 'book'"), ["it's", "O’Reilly’s", "book"]);
}

#[test]
fn identifiers_urls_and_paths_stay_whole() {
    #[rustfmt::skip]
    let whole_words = [
        "BENCH-100821", "snake_case", "CLAUDE.md", "v2026.4.10", "foo:bar", "10:30", "C:\\path\\x",
        "http://x.org/a?b=c", "a/b.c", "f(x)", "foo()", "don't", "--no-verify", "C++", "C#", ".NET", "#5", "1,000",
        "R&D",
    ];
    for word in whole_words {
        assert_eq!(words(word), [word]);
        assert_eq!(any_word(word), format!("\"{word}\""));
        assert_eq!(query::embedding_text(&parse(word)), word);
    }
}

#[test]
fn marks_of_sentences_belong_to_no_word_but_to_the_text_to_embed() {
    assert_eq!(
        words("What is Rust? (a language), they say..."),
        ["What", "is", "Rust", "a", "language", "they", "say"]
    );
    assert_eq!(query::embedding_text(&parse("What is Rust?")), "What is Rust?");
    assert_eq!(words("apples,pears;plums"), ["apples", "pears", "plums"]);
    assert_eq!(words("猫、犬。鳥"), ["猫", "犬", "鳥"]);
}

#[test]
fn a_star_behind_a_word_asks_for_longer_words() {
    assert_eq!(any_word("engin*"), r#""engin" *"#);
    assert_eq!(any_word("session-rec*"), r#""session-rec" *"#);
    assert_eq!(any_word("**bold** *.md 5*3"), r#""bold" OR ".md" OR "5*3""#);
    let conn = tables();
    assert_eq!(matching(&conn, "words", &any_word("zeb*")).unwrap(), [1]);
    assert_eq!(matching(&conn, "words", &any_word("\"quick zeb\"*")).unwrap(), [1]);
}

#[test]
fn what_no_tokenizer_reads_does_not_spoil_the_rest() {
    let conn = tables();
    #[rustfmt::skip]
    let wordless_beside_words = [
        "zebra ---", "--- zebra", "… zebra", "zebra … (quick OR ¿)", "… (quick OR panic)", "(… OR ¿) zebra",
        "… AND zebra", "zebra AND ---", "zebra & plan", "a:- zebra OR !!!",
    ];
    for text in wordless_beside_words {
        let expression = if text.starts_with("a:") { any_word(text) } else { all_words(text) };
        assert_eq!(matching(&conn, "words", &expression).unwrap(), [1], "{text} means {expression}");
        assert_eq!(in_scope(&conn, &filters(text)).unwrap(), [1], "{text} means {:?}", filters(text));
    }
    assert_eq!(matching(&conn, "words", &all_words("zebra missing")).unwrap(), [0i64; 0]);
    // An emoji is a word like any other.
    assert_eq!(matching(&conn, "words", &all_words("🎉 zebra")).unwrap(), [0i64; 0]);
    assert_eq!(in_scope(&conn, &filters("🎉 AND zebra")).unwrap(), [0i64; 0]);
}

#[test]
fn text_to_embed_has_no_operators_and_no_filters() {
    let text = query::embedding_text(&parse(
        "cats OR dogs -mice NOT rats \"in the house\" tag:pets after:2024 title:Home engin*",
    ));
    assert_eq!(text, "cats dogs in the house Home engin");
    assert_eq!(query::embedding_text(&parse("tag:work")), "");
}

// -------------------------------------------------------------------- operators

#[test]
fn operators_bind_as_documented() {
    assert_eq!(all_words("cat OR dog food"), r#""food" AND ("cat" OR "dog")"#);
    assert_eq!(all_words("a b AND c OR d"), r#""a" AND (("b" "c") OR "d")"#);
    assert_eq!(all_words("(a OR b) (c OR \"d e\")"), r#"("a" OR "b") AND ("c" OR "d e")"#);
    assert_eq!(any_word("(a OR b) AND c"), r#""a" OR "b" OR "c""#);
}

#[test]
fn operators_without_operands_or_capitals_are_words() {
    assert_eq!(words("OR gate"), ["OR", "gate"]);
    assert_eq!(words("gate OR"), ["gate", "OR"]);
    assert_eq!(words("this and that or not"), ["this", "and", "that", "or", "not"]);
    assert_eq!(words("404 NOT FOUND"), ["404", "NOT", "FOUND"]);
    assert_eq!(words("CREATE TABLE IF NOT EXISTS"), ["CREATE", "TABLE", "IF", "NOT", "EXISTS"]);
    assert_eq!(words("NOT working"), ["NOT", "working"]);
    assert_eq!(words("DISPUTE BETWEEN ISRAEL AND SYRIA"), ["DISPUTE", "BETWEEN", "ISRAEL", "AND", "SYRIA"]);
    assert_eq!(words("NATO AND SEATO"), ["NATO", "SEATO"]);
    assert_eq!(filters("404 NOT FOUND").excluded, [""; 0]);
}

#[test]
fn a_minus_negates_what_it_directly_stands_before() {
    assert_eq!(filters("jaguar -car").excluded, [r#""car""#]);
    assert_eq!(filters("jaguar NOT car").excluded, [r#""car""#]);
    assert_eq!(filters("a AND NOT b").excluded, [r#""b""#]);
    assert_eq!(
        filters("jaguar -\"sports car\" -rent* -title:draft").excluded,
        [r#""sports car" OR "rent" * OR title : "draft""#]
    );
    assert_eq!(filters("jaguar -(car OR cat)").excluded, [r#""car" OR "cat""#]);
    assert_eq!(filters("－車").excluded, [r#""車""#]);
    for text in ["a - b", "-", "a -", "--flag", "->", "git commit -m", "kill -9", "well-known", "a-b -- c"] {
        assert!(!query::has_filters(&parse(text)), "{text}");
    }
}

#[test]
fn a_query_of_negations_alone_is_legal() {
    let query = parse("-draft -tag:old");
    assert!(!query.is_empty());
    assert!(query::has_filters(&query));
    assert_eq!(query::plain_words(&query), [""; 0]);
    assert_eq!(filters("-draft -tag:old").tags_none, ["old"]);
}

#[test]
fn words_joined_by_and_are_demanded_anywhere_in_the_note() {
    assert_eq!(filters("tier1-test AND unicode").required, [r#""tier1-test""#, r#""unicode""#]);
    assert_eq!(filters("tier1-test unicode").required, [""; 0]);
    assert_eq!(filters("(a OR b) AND c").conditions, [Condition::Matches(r#""a" OR "b""#.to_owned())]);
}

// -------------------------------------------------------------------- filters

#[test]
fn tags_are_read_in_every_spelling() {
    let tags = |text| filters(text).tags_all;
    #[rustfmt::skip]
    let one_tag = [
        "tag:work/jp", "#work/jp", "Tag:work/jp", "tag:#work/jp", "tag:\"work/jp\"", "tag:work/jp,", "tag:work/jp/",
        "tag:work/jp/*", "＃work/jp", "tag：work/jp", "\u{200f}#work/jp\u{200f}", "(#work/jp)",
    ];
    for text in one_tag {
        assert_eq!(tags(text), ["work/jp"], "{text}");
    }
    for text in ["#two words#", "tag:\"two words\"", "tag:“two words”", "tag:#two words#", "#two words#, #two words#."]
    {
        assert_eq!(tags(text)[0], "two words", "{text}");
    }
    assert_eq!(tags("#work meeting #home"), ["work", "home"]);
    assert_eq!(tags("#🎉 #日本語"), ["🎉", "日本語"]);
    assert_eq!(tags("#work C# F#"), ["work"]);
    assert_eq!(tags("issue #5, C# ## heading # x tag: y tag:"), [""; 0]);
    assert_eq!(filters("-#old -tag:\"very old\"").tags_none, ["old", "very old"]);
}

#[test]
fn filters_select_the_notes_that_they_name() {
    let conn = index(&[
        Note { title: "Plan", text: "apple", tags: &["work"], updated: Some(date(2024, 4, 30)), ..NOTE },
        Note {
            title: "Notes",
            text: "apple plan",
            tags: &["Work/JP", "two words"],
            updated: Some(date(2024, 5, 1)),
            ..NOTE
        },
        Note { title: "Shop", text: "berry", tags: &["workshop"], source: 2, updated: Some(date(2024, 5, 31)), ..NOTE },
        Note {
            title: "Old",
            text: "berry apple",
            tags: &["old"],
            archived: true,
            updated: Some(date(2024, 6, 1)),
            ..NOTE
        },
        Note { title: "Undated", text: "cherry", pinned: true, source: 2, updated: None, ..NOTE },
    ]);
    for (text, expected) in [
        ("", vec![1, 2, 3, 5]),
        ("tag:work", vec![1, 2]),
        ("tag:WORK/jp", vec![2]),
        ("#two words#", vec![2]),
        ("tag:nobody", vec![]),
        ("-tag:work", vec![3, 5]),
        ("tag:work OR tag:workshop", vec![1, 2, 3]),
        ("tag:workshop OR plan", vec![1, 2, 3]),
        ("-(tag:work OR cherry)", vec![3]),
        ("-(tag:work plan)", vec![3, 5]),
        ("(tag:work -plan) OR cherry", vec![5]),
        ("title:plan", vec![1]),
        ("-title:plan", vec![2, 3, 5]),
        ("apple AND plan", vec![1, 2]),
        ("-apple", vec![3, 5]),
        ("in:vault", vec![1, 2]),
        ("in:ärzte", vec![3, 5]),
        ("in:\"ÄRZTE\" -in:vault", vec![3, 5]),
        ("in:vault in:ärzte", vec![1, 2, 3, 5]),
        ("in:vault OR cherry", vec![1, 2, 5]),
        ("in:nowhere", vec![]),
        ("is:archived", vec![4]),
        ("is:archived OR tag:work", vec![1, 2, 4]),
        ("-is:archived", vec![1, 2, 3, 5]),
        ("is:pinned", vec![5]),
        ("-is:pinned", vec![1, 2, 3]),
        ("is:pinned -is:pinned", vec![]),
        ("is:locked", vec![]),
        ("after:2024-05", vec![2, 3]),
        ("After:2024-05, AFTER:2024.", vec![2, 3]),
        ("after:\"2024-05-31\"", vec![3]),
        ("before:2024-05", vec![1]),
        ("updated:2024-05", vec![2, 3]),
        ("-updated:2024-05", vec![1, 5]),
        ("after:2024-05-31", vec![3]),
        ("after:2024-05 before:2024-05-31", vec![2]),
        ("is:archived after:2024-06", vec![4]),
        ("prop:status=done", vec![]),
        ("-prop:status=done", vec![1, 2, 3, 5]),
    ] {
        assert_eq!(found(&conn, text), expected, "{text:?} means {:?}", filters(text));
    }
}

#[test]
fn what_the_caller_asks_for_still_holds() {
    let base = Filters {
        sources: vec![1],
        source_names: vec!["Vault".to_owned()],
        tags_all: vec!["a".to_owned()],
        updated_from_ms: midnight_ms(date(2025, 1, 1)),
        updated_until_ms: midnight_ms(date(2026, 1, 1)),
        pinned: Some(true),
        excluded: vec!["\"x\"".to_owned()],
        ..Filters::default()
    };
    let narrowed = query::filters(&parse("tag:b after:2024 before:2025-07 -is:pinned -yak in:vault"), &base);
    assert_eq!(narrowed.tags_all, ["a", "b"]);
    assert_eq!(narrowed.updated_from_ms, midnight_ms(date(2025, 1, 1)));
    assert_eq!(narrowed.updated_until_ms, midnight_ms(date(2025, 7, 1)));
    assert_eq!(narrowed.excluded, ["\"x\"", "\"yak\""]);
    assert_eq!(narrowed.pinned, Some(true));
    assert_eq!(narrowed.conditions, [Condition::Not(Box::new(Condition::Pinned))]);
    assert_eq!(narrowed.source_names, ["vault"]);
    assert_eq!(query::filters(&parse("in:other"), &base).conditions, [Condition::NEVER]);
    assert_eq!(query::filters(&parse("words alone"), &base), base);
}

#[test]
fn what_is_no_date_is_text_and_said_to_be() {
    #[rustfmt::skip]
    let no_dates = [
        "soon", "2024-13", "2024-02-30", "24", "2024-", "2024-05-03-01", "99999999999d", "9999999d", "9999", "-5d",
        "5x", "2024-1000", "..", "日本",
    ];
    for value in no_dates {
        let text = format!("after:{value}");
        assert!(!query::has_filters(&parse(&text)), "{text}");
        assert_eq!(words(&text).len(), 1, "{text}");
        if value.contains(char::is_alphanumeric) {
            let explained = query::explain(&parse(&text));
            assert!(explained.contains("searched as text"), "{text}: {explained}");
        }
    }
}

// -------------------------------------------------------------------- logic

/// A demand whose meaning is computed twice: by the language and the index, and by hand.
#[derive(Debug, Clone)]
enum Demand {
    Word(&'static str),
    Tag(&'static str),
    Not(Box<Demand>),
    Both(Box<Demand>, Box<Demand>),
    Either(Box<Demand>, Box<Demand>),
}

impl Demand {
    fn typed(&self) -> String {
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Tag(tag) => format!("tag:{tag}"),
            Self::Not(inner) => format!("-({})", inner.typed()),
            Self::Both(a, b) => format!("({} AND {})", a.typed(), b.typed()),
            Self::Either(a, b) => format!("({} OR {})", a.typed(), b.typed()),
        }
    }

    fn holds(&self, note: &Note) -> bool {
        match self {
            Self::Word(word) => note.text.contains(word),
            Self::Tag(tag) => note.tags.contains(tag),
            Self::Not(inner) => !inner.holds(note),
            Self::Both(a, b) => a.holds(note) && b.holds(note),
            Self::Either(a, b) => a.holds(note) || b.holds(note),
        }
    }
}

fn demand() -> impl Strategy<Value = Demand> {
    let leaf = prop_oneof![
        prop::sample::select(&["apple", "berry"][..]).prop_map(Demand::Word),
        prop::sample::select(&["red", "blue"][..]).prop_map(Demand::Tag),
    ];
    leaf.prop_recursive(6, 24, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            inner.prop_map(|inner| Demand::Not(Box::new(inner))),
            two.clone().prop_map(|(a, b)| Demand::Both(Box::new(a), Box::new(b))),
            two.prop_map(|(a, b)| Demand::Either(Box::new(a), Box::new(b))),
        ]
    })
}

#[test]
fn operators_and_brackets_mean_what_logic_says() {
    let texts = ["", "apple", "berry", "apple berry"];
    let tags: [&[&str]; 4] = [&["all"], &["all", "red"], &["all", "blue"], &["all", "red", "blue"]];
    let notes: Vec<Note> =
        texts.iter().flat_map(|text| tags.iter().map(move |tags| Note { text, tags, ..NOTE })).collect();
    let conn = index(&notes);
    property(&demand(), |demand| {
        // The first AND makes a demand of what would otherwise only rank.
        let text = format!("tag:all AND {}", demand.typed());
        let expected: Vec<i64> =
            (1i64..).zip(&notes).filter(|(_, note)| demand.holds(note)).map(|(id, _)| id).collect();
        assert_eq!(found(&conn, &text), expected, "{text} means {:?}", filters(&text));
    });
}

// -------------------------------------------------------------------- the page about it

#[test]
fn the_documentation_shows_what_is_understood() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/query.md")).unwrap();
    let rows: Vec<(&str, &str)> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ")).collect();
    assert!(rows.len() > 30, "the tables were not recognised");
    for (typed, understood) in rows {
        assert_eq!(query::explain(&parse(typed)), understood, "{typed}");
    }
}
