//! A request that has arrived goes through the models of its step.

use std::sync::Arc;
use std::time::Duration;

use super::{Connection, micros};
use crate::event::What;
use crate::models::{Applied, Asked, Decision};
use crate::transport::Transport;
use crate::works::Work;

impl<T: Transport> Connection<T> {
    /// Asks the models of the current exchange's step, if the client lived when its
    /// request had arrived, and makes its program of what they decided. What they
    /// did is done, whatever becomes of the connection.
    pub(super) fn go_through_models(&mut self, arrived: Duration, digest: Option<&str>) {
        let server = self.server.clone();
        let Some(exchange) = &self.exchange else {
            return;
        };
        if !exchange.scripted || !self.life.lived_at(arrived) {
            return;
        }
        let through = exchange.step.and_then(|step| server.through(step));
        let (Some(through), Some(head)) = (through, exchange.request.head()) else {
            return;
        };
        let json = exchange.request.json();
        let passage = server.ask(
            through,
            &Asked {
                at: arrived,
                method: &head.method,
                target: &head.target,
                headers: &head.headers,
                digest,
                json: json.as_ref(),
            },
        );
        for (name, decision) in &passage.0 {
            self.tell(What::Model {
                name: name.clone(),
                decided: decision.decided.clone(),
                since_us: micros(arrived),
            });
            self.apply(decision, arrived);
        }
        if let Some(exchange) = &mut self.exchange {
            exchange.program = Some(Arc::new((through.program)(&passage)));
            exchange.passage = Some(passage);
        }
    }

    /// The application does what a model decided.
    fn apply(&self, decision: &Decision, arrived: Duration) {
        for effect in decision.effects.iter().cloned() {
            self.take_effect(effect, decision.takes, arrived);
        }
    }

    fn take_effect(&self, effect: Applied, takes: Duration, arrived: Duration) {
        if takes.is_zero() {
            return self.tell(What::Effect {
                name: effect.name,
                key: effect.key,
                since_us: micros(arrived),
                began_us: None,
            });
        }
        self.server.cell.begin_work(Work {
            server: self.server.name.clone(),
            connection: self.number,
            exchange: self.exchange.as_ref().map(|exchange| exchange.number),
            name: effect.name,
            key: effect.key,
            began: arrived,
            ends: arrived + takes,
        });
    }

    /// The current exchange is answered, or never will be: what models let pass is
    /// over.
    pub(crate) fn release(&mut self) {
        let passage = self.exchange.as_mut().and_then(|one| one.passage.take());
        if let Some(passage) = passage {
            self.server.release(&passage);
        }
    }
}
