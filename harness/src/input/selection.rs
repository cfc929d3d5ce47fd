//! Which cases are meant: ids and globs over `area/name[column=value,...]`, and
//! files.

use std::path::PathBuf;

use globset::{GlobBuilder, GlobMatcher};
use scenarios::document::decode::nearest;
use scenarios::plan::Plan;

use crate::failure::Failure;
use crate::input::suite::{Scenario, Suite};

/// The tag that keeps a scenario out of a run in which nothing is named.
pub const SLOW: &str = "slow";

/// What was named on the command line.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    selectors: Vec<Selector>,
    /// Scenario files; all their cases are meant.
    pub files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
struct Selector {
    text: String,
    glob: GlobMatcher,
}

impl Selection {
    /// Reads the arguments: what ends in `.yaml` or `.yml` is a file.
    ///
    /// # Errors
    /// When one of them is no glob.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut selection = Self::default();
        for text in arguments {
            if text.ends_with(".yaml") || text.ends_with(".yml") {
                selection.files.push(PathBuf::from(text));
            } else {
                selection.selectors.push(Selector::parse(text)?);
            }
        }
        Ok(selection)
    }

    /// Whether nothing was named, so that all is meant.
    pub fn is_everything(&self) -> bool {
        self.selectors.is_empty() && self.files.is_empty()
    }

    /// Whether shipped scenarios are needed at all.
    pub fn needs_suite(&self) -> bool {
        !self.selectors.is_empty() || self.files.is_empty()
    }

    /// Whether a selector means this scenario with all its cases.
    pub fn names(&self, scenario: &str) -> bool {
        let mut selectors = self.selectors.iter();
        selectors.any(|one| one.text == scenario || one.glob.is_match(scenario))
    }

    /// The cases that are meant, in the order of the suite. Where nothing is named
    /// these are all, slow ones only where waiting takes no time.
    ///
    /// # Errors
    /// When a selector fits no case.
    pub fn pick<'a>(
        &self,
        suite: &'a Suite,
        virtual_time: bool,
    ) -> Result<Vec<(&'a Scenario, &'a Plan)>, Failure> {
        for selector in &self.selectors {
            if !suite.cases().any(|(_, plan)| selector.fits(plan)) {
                return Err(selector.fits_nothing(suite));
            }
        }
        let meant = |scenario: &Scenario, plan: &Plan| {
            if self.is_everything() {
                return virtual_time && plan.real_time().is_none() || !plan.tags.contains(SLOW);
            }
            scenario.named || self.selectors.iter().any(|selector| selector.fits(plan))
        };
        Ok(suite
            .cases()
            .filter(|(scenario, plan)| meant(scenario, plan))
            .collect())
    }
}

impl Selector {
    fn parse(text: &str) -> Result<Self, Failure> {
        // Brackets are part of a case's name, not of the glob.
        let literal: String = text
            .chars()
            .map(|symbol| match symbol {
                '[' => "[[]".to_owned(),
                ']' => "[]]".to_owned(),
                other => other.to_string(),
            })
            .collect();
        let glob = GlobBuilder::new(&literal)
            .build()
            .map_err(|error| Failure::usage(format!("`{text}` is no selector: {error}")))?;
        Ok(Self {
            text: text.to_owned(),
            glob: glob.compile_matcher(),
        })
    }

    /// By the case's name, or by that of its scenario.
    fn fits(&self, plan: &Plan) -> bool {
        let case = plan.case.to_string();
        [case.as_str(), plan.case.scenario.as_str()]
            .into_iter()
            .any(|name| name == self.text || self.glob.is_match(name))
    }

    fn fits_nothing(&self, suite: &Suite) -> Failure {
        let text = &self.text;
        let ids = || suite.scenarios.iter().map(|scenario| scenario.id.as_str());
        let area = format!("{}/", text.trim_end_matches('/'));
        let scenario = text.split('[').next().unwrap_or(text);
        let last = |id: &&str| id.split_once('/').is_some_and(|(_, name)| name == scenario);
        let hint = if ids().any(|id| id.starts_with(&area)) {
            format!("for all scenarios of an area write `{area}*`")
        } else if let Some(id) = ids().find(|id| *id == scenario) {
            format!("`{id}` has other columns, see `wirefault list scenarios '{id}'`")
        } else if let Some(id) = ids().find(last) {
            format!("did you mean `{id}`?")
        } else if let Some(id) = nearest(text, ids()) {
            format!("did you mean `{id}`?")
        } else {
            "see `wirefault list scenarios`".to_owned()
        };
        Failure::usage(format!("no case fits `{text}`: {hint}"))
    }
}
