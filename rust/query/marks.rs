//! What single characters mean in a query, and what punctuation around a word is not part of it.

/// Words separated by one space each: `text` without line breaks, control characters and marks of direction.
pub(super) fn single_spaced(text: &str) -> String {
    let words: Vec<&str> = text.split(is_separator).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// At most the first `max_bytes` of `text`.
pub(super) fn beginning(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether words end here. Control characters are among them because SQLite's strings end at NUL; marks of direction
/// because they are invisible where a person would look for the beginning of a word.
pub(super) fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// ASCII's, Latin-1's, the general and the East Asian punctuation; symbols and emoji are none.
pub(super) fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || is_separator(c)
        || (!c.is_alphanumeric()
            && matches!(c, '\u{a1}'..='\u{bf}' | '\u{2010}'..='\u{205e}' | '\u{3001}'..='\u{303f}' | '\u{ff01}'..='\u{ff65}'))
}

/// What ends a phrase that `open` begins; empty when `open` is no quote. German and Swedish close with what English opens with.
pub(super) fn closing_quotes(open: char) -> &'static [char] {
    match open {
        '"' => &['"'],
        '“' => &['”', '"'],
        '„' | '‟' => &['“', '”', '"'],
        '”' => &['”'],
        '«' => &['»'],
        '»' => &['«', '»'],
        '「' => &['」'],
        '『' => &['』'],
        '＂' => &['＂'],
        _ => &[],
    }
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '「' | '」' | '『' | '』' | '＂' | '\'' | '‘' | '’' | '`')
}

pub(super) fn is_open_bracket(c: char) -> bool {
    matches!(c, '(' | '（')
}

pub(super) fn is_close_bracket(c: char) -> bool {
    matches!(c, ')' | '）')
}

pub(super) fn is_colon(c: char) -> bool {
    matches!(c, ':' | '：')
}

pub(super) fn is_hash(c: char) -> bool {
    matches!(c, '#' | '＃')
}

pub(super) fn is_minus(c: char) -> bool {
    matches!(c, '-' | '−' | '－')
}

/// Ends sentences and their parts, so that it belongs to no word when it stands at a word's end.
pub(super) fn is_sentence_mark(c: char) -> bool {
    matches!(c, ',' | '.' | ';' | ':' | '?' | '!' | '…' | '—') || is_wide_mark(c)
}

/// The same in scripts that put no space behind them: such a mark ends a word wherever it stands.
pub(super) fn is_wide_mark(c: char) -> bool {
    matches!(c, '、' | '。' | '，' | '！' | '？' | '；' | '：' | '،' | '؛' | '؟')
}

/// What a written word looks for, and whether a `*` asks for longer words too: without the marks of sentences, quotes
/// without partner and brackets around it. Punctuation alone stays as it is.
pub(super) fn core(written: &str) -> (&str, bool) {
    let opens = |c: char| is_quote(c) || is_open_bracket(c) || matches!(c, '[' | '{' | '¿' | '¡');
    let word = written.trim_start_matches(opens);
    let is_call = word.contains(['(', '（', '[', '{']);
    let closes =
        |c: char| is_quote(c) || is_sentence_mark(c) || (!is_call && (is_close_bracket(c) || matches!(c, ']' | '}')));
    let word = word.trim_end_matches(closes);
    if let Some(stem) = word.strip_suffix('*')
        && stem.ends_with(char::is_alphanumeric)
        && !stem.contains('*')
    {
        return (stem, true);
    }
    let word = word.trim_matches('*');
    if word.is_empty() { (written, false) } else { (word, false) }
}
