//! Names that people type in any case: titles, tags, source names. One way to fold them for comparison.

use unicode_normalization::UnicodeNormalization;

/// `name` composed (NFC) and case-folded, so that `Café`, `CAFE\u{301}` and `café` are one name.
///
/// Upper-casing first makes the folding full: `ß` and `SS` meet, as do the final and the inner sigma.
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.trim().to_ascii_lowercase();
    }
    name.trim().nfc().collect::<String>().to_uppercase().to_lowercase().nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn names_that_differ_in_case_or_composition_only_fold_to_one() {
        assert_eq!(fold("CAFE\u{301}"), fold("café"));
        assert_eq!(fold("Straße"), fold("STRASSE"));
        assert_eq!(fold("ΟΔΟΣ"), fold("οδος"));
        assert_eq!(fold(" Work/JP "), "work/jp");
        assert_ne!(fold("work"), fold("works"));
    }
}
