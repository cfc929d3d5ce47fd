//! Layers that send again, each what the one below it gives up. Stacked they
//! multiply: a gateway with one retry over an SDK with two makes six sends.

/// How often each layer tries the one below it, the first time included; outermost
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layers(Vec<u32>);

impl Layers {
    /// One layer with so many tries.
    pub(crate) fn one(tries: u32) -> Self {
        Self(vec![tries])
    }

    /// Layers with so many retries each, outermost first.
    pub(crate) fn stacked(retries: impl IntoIterator<Item = u32>) -> Self {
        let tries = retries.into_iter();
        Self(tries.map(|retries| retries.saturating_add(1)).collect())
    }

    /// The layers with other numbers of tries.
    pub(crate) fn each(self, change: impl Fn(u32) -> u32) -> Self {
        Self(self.0.into_iter().map(change).collect())
    }

    /// All retries of all layers in one layer.
    pub(crate) fn added_up(self) -> Self {
        let retries = self.0.iter().map(|tries| tries.saturating_sub(1)).sum();
        Self::stacked([retries])
    }

    /// With another layer like the innermost one below it.
    pub(crate) fn doubled(mut self) -> Self {
        self.0.extend(self.0.last().copied());
        self
    }

    /// After so many sends: of the innermost layer that has a try left, which of its
    /// retries this is, from 1; the layers within it begin anew. None: all are through.
    pub(crate) fn retry(&self, sends: u32) -> Option<u32> {
        let mut sends = sends;
        for tries in self.0.iter().rev() {
            if !sends.is_multiple_of(*tries) {
                return Some(sends % tries);
            }
            sends /= tries;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retries(layers: &Layers) -> Vec<u32> {
        let all = (1..).map_while(|sends| layers.retry(sends));
        all.take(100).collect()
    }

    #[test]
    fn one_layer_counts_to_its_end() {
        assert_eq!(retries(&Layers::one(3)), [1, 2]);
        assert_eq!(retries(&Layers::one(1)), [0_u32; 0]);
    }

    #[test]
    fn what_is_stacked_multiplies_and_each_layer_within_begins_anew() {
        assert_eq!(retries(&Layers::stacked([1, 2])), [1, 2, 1, 1, 2]);
        assert_eq!(retries(&Layers::stacked([1, 3, 2])).len() + 1, 24);
        assert_eq!(retries(&Layers::stacked([1, 0])), [1]);
    }

    #[test]
    fn layers_may_be_added_up_or_doubled_by_mistake() {
        let stacked = Layers::stacked([1, 3, 2]);
        assert_eq!(retries(&stacked.clone().added_up()).len() + 1, 7);
        assert_eq!(retries(&Layers::one(4).doubled()).len() + 1, 16);
        assert_eq!(stacked.each(|tries| tries + 1), Layers(vec![3, 5, 4]));
    }
}
