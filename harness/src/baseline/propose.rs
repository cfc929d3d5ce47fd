//! What the baseline's files would have to say for a run to be as expected. A
//! person reads it, says why, and copies it; nothing is taken over by itself.

use std::collections::BTreeMap;

use reports::record::{BaselineEntry, Cell, Disposition, RunRecord};
use scenarios::verdict::Verdict;

use super::Baseline;

/// The reason in a proposal. A baseline that still says this is rejected.
pub const UNSAID: &str = "say why this is known and whose fault it is";

/// A file for each client of which something differs in a way that an entry
/// could state: no errors, and nothing flaky.
pub fn propose(record: &RunRecord, baseline: &Baseline) -> BTreeMap<String, String> {
    let mut clients: BTreeMap<&str, BTreeMap<String, BaselineEntry>> = BTreeMap::new();
    let known = |client: &str| {
        let entries = baseline.0.get(client).into_iter().flatten();
        entries
            .map(|(case, entry)| (case.clone(), entry.says.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    for cell in record.cells.iter().filter(|cell| can_be_stated(cell)) {
        let entries = clients
            .entry(&cell.client)
            .or_insert_with(|| known(&cell.client));
        let known = cell.baseline.as_ref().map(|known| known.expect);
        if cell.judged.verdict == Verdict::Pass && known != Some(Verdict::Pass) {
            entries.remove(&cell.case());
            continue;
        }
        let entry = match cell.baseline.clone() {
            Some(known) => BaselineEntry {
                expect: cell.judged.verdict,
                fingerprint: cell.fingerprint.clone(),
                ..known
            },
            None => BaselineEntry {
                expect: cell.judged.verdict,
                fingerprint: cell.fingerprint.clone(),
                reason: UNSAID.to_owned(),
                not_with: Vec::new(),
                or: Vec::new(),
            },
        };
        entries.insert(cell.case(), entry);
    }
    for entry in &record.stale {
        let entries = clients
            .entry(&entry.client)
            .or_insert_with(|| known(&entry.client));
        entries.remove(&entry.case);
    }
    clients
        .into_iter()
        .map(|(client, entries)| (client.to_owned(), write(client, &entries)))
        .collect()
}

fn can_be_stated(cell: &Cell) -> bool {
    let differs = matches!(
        cell.disposition,
        Disposition::Regression | Disposition::Changed | Disposition::Fixed
    );
    differs && cell.judged.verdict != Verdict::Error
}

fn write(client: &str, entries: &BTreeMap<String, BaselineEntry>) -> String {
    let mut text = format!("client: {}\n", quoted(client));
    if entries.is_empty() {
        text.push_str("cells: []\n");
        return text;
    }
    text.push_str("cells:\n");
    for (case, entry) in entries {
        text.push_str(&format!("  - case: {}\n", quoted(case)));
        let expect = reports::words::verdict(entry.expect);
        text.push_str(&format!("    expect: {expect}\n"));
        if !entry.fingerprint.is_empty() {
            text.push_str(&format!(
                "    fingerprint: {}\n",
                quoted(&entry.fingerprint)
            ));
        }
        for (at, seen) in entry.or.iter().enumerate() {
            let expect = reports::words::verdict(seen.expect);
            let key = if at == 0 { "    or:\n" } else { "" };
            text.push_str(&format!("{key}      - expect: {expect}\n"));
            text.push_str(&format!(
                "        fingerprint: {}\n",
                quoted(&seen.fingerprint)
            ));
        }
        text.push_str(&format!("    reason: {}\n", quoted(&entry.reason)));
        if !entry.not_with.is_empty() {
            let texts: Vec<_> = entry.not_with.iter().map(|text| quoted(text)).collect();
            text.push_str(&format!("    not_with: [{}]\n", texts.join(", ")));
        }
    }
    text
}

/// As quoted text of YAML, everything that is not plainly visible escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for symbol in text.chars() {
        match symbol {
            '"' | '\\' => out.extend(['\\', symbol]),
            ' '..='~' => out.push(symbol),
            _ if symbol.is_alphanumeric() => out.push(symbol),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(symbol))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, decode, dispose, fingerprint};
    use super::*;
    use crate::samples;
    use proptest::prelude::*;
    use reports::record::KnownSight;
    use scenarios::document::Source;

    fn cell(case: &str, verdict: Verdict, baseline: &Baseline) -> Cell {
        let mut cell = samples::cell(case, "curl", samples::verdict(verdict, &[("api", 2)]));
        cell.fingerprint = fingerprint(&cell.judged);
        cell.baseline = baseline
            .entry("curl", "curl 1", case)
            .map(|entry| entry.says.clone());
        cell.disposition = dispose(cell.baseline.as_ref(), verdict, &cell.fingerprint);
        cell
    }

    fn entry(expect: Verdict, fingerprint: &str) -> Entry {
        Entry {
            says: BaselineEntry {
                expect,
                fingerprint: fingerprint.to_owned(),
                reason: "known".to_owned(),
                not_with: vec!["curl 0".to_owned()],
                or: Vec::new(),
            },
            place: "baseline/curl.yaml:3".to_owned(),
        }
    }

    fn read(text: &str) -> BTreeMap<String, BaselineEntry> {
        let source = Source {
            path: "curl.yaml".to_owned(),
            text: text.to_owned(),
        };
        let (client, entries) = decode(&source).unwrap_or_else(|found| {
            panic!("{}", scenarios::document::render(&found, &source, false))
        });
        assert_eq!(client, "curl");
        let entries = entries.into_iter();
        entries.map(|(case, entry)| (case, entry.says)).collect()
    }

    #[test]
    fn a_proposal_keeps_drops_changes_and_adds_entries() {
        let mut baseline = Baseline::default();
        baseline.0.insert(
            "curl".to_owned(),
            BTreeMap::from([
                ("a/changed".to_owned(), entry(Verdict::Fail, "other")),
                ("a/fixed".to_owned(), entry(Verdict::Fail, "other")),
                ("a/elsewhere".to_owned(), entry(Verdict::Fail, "other")),
            ]),
        );
        let record = samples::record(vec![
            cell("a/changed", Verdict::Fail, &baseline),
            cell("a/fixed", Verdict::Pass, &baseline),
            cell("a/new", Verdict::Fail, &baseline),
            cell("a/broken", Verdict::Error, &baseline),
            cell("a/fine", Verdict::Pass, &baseline),
        ]);
        let files = propose(&record, &baseline);
        insta::assert_snapshot!(files["curl"]);
        // As written it is refused, since nobody said why.
        let source = Source {
            path: "curl.yaml".to_owned(),
            text: files["curl"].clone(),
        };
        assert!(decode(&source).is_err());
        let said = files["curl"].replace(UNSAID, "known");
        let cases: Vec<_> = read(&said).into_keys().collect();
        assert_eq!(cases, ["a/changed", "a/elsewhere", "a/new"]);
    }

    #[test]
    fn a_run_as_expected_proposes_nothing() {
        let baseline = Baseline::default();
        let record = samples::record(vec![cell("a/fine", Verdict::Pass, &baseline)]);
        assert_eq!(propose(&record, &baseline), BTreeMap::new());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            case in "\\PC{0,20}", seen in "\\PC{0,20}|[\\x00-\\x7f]{0,20}", reason in "\\PC{0,20}",
        ) {
            // Text of white space alone is a mistake in every document.
            let [case, seen, reason] = [case, seen, reason].map(|text| format!("x{text}"));
            let not_with = vec![seen.clone(), reason.clone()];
            let or = [Verdict::Pass, Verdict::Fail].map(|expect| KnownSight { expect, fingerprint: seen.clone() });
            let or = or.to_vec();
            let entry = BaselineEntry { expect: Verdict::Fail, fingerprint: seen, reason, not_with, or };
            let entries = BTreeMap::from([(case, entry)]);
            prop_assert_eq!(read(&write("curl", &entries)), entries);
        }
    }
}
