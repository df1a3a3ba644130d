//! Figures as the text that collectors read.

use std::fmt::Write as _;

use super::{Family, Kind};

/// Writes figures as Prometheus reads them.
pub fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let kind = match family.kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(
            text,
            "# HELP {} {}\n# TYPE {} {kind}",
            family.name, family.help, family.name
        );
        for ((_, sample), value) in &family.samples {
            let _ = writeln!(text, "{sample} {value}");
        }
    }
    text
}
