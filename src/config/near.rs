//! The nearest known word to one that is not known.

/// `did you mean X?`, if one of `known` is near enough to be what was meant.
pub(super) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// The nearest of `known`: a third of the letters may differ, swapped neighbours count once, case and the
/// choice between `_` and `-` not at all.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace('-', "_");
    let word = fold(word);
    known
        .map(|known| (strsim::osa_distance(&word, &fold(known)), known))
        .filter(|(distance, known)| {
            let letters = known.len().min(word.len());
            *distance <= (letters / 3).max(1) && *distance < letters
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["listen", "public_url", "drain_timeout"];
        for (slip, meant) in
            [("lsiten", "listen"), ("publicurl", "public_url"), ("Drain-Timeout", "drain_timeout")]
        {
            assert_eq!(nearest(slip, known.into_iter()), Some(meant));
        }
        assert_eq!(nearest("workspace", known.into_iter()), None);
    }
}
