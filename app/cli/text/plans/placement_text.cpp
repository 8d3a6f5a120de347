#include "app/cli/text/plans/placement_text.h"

#include <algorithm>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

Fields<JobKind> job_kind_fields() {
  return {{"name", &JobKind::name, text()},
          {"devices", &JobKind::devices, whole(1)},
          {"peak_bytes", [](const JobKind& kind) { return peak_of(kind.wave); }, whole(),
           "on all its devices together, at the worst phase of a step"},
          {"median_seconds", [](const JobKind& kind) { return to_seconds(kind.median); }, number()},
          {"spread", &JobKind::spread, number(), "of the logarithm of durations"},
          {"weight", &JobKind::weight, number(), "how often it arrives, relative to the others"}};
}

Fields<PolicyOutcome> policy_fields() {
  return {{"name", &PolicyOutcome::name, text()},
          {"peak_bytes", &PolicyOutcome::peak, number(), "of the most loaded node, mean of traces"},
          {"against_least_loaded", &PolicyOutcome::against_base, number(),
           "that peak against that of least loaded: -0.03 = 3 % lower"},
          {"peak_to_mean", &PolicyOutcome::peak_to_mean, number()},
          {"utilisation", &PolicyOutcome::utilisation, number(), "share of device-time"},
          {"fragmentation", &PolicyOutcome::fragmentation, number(),
           "share of free bytes that lie on nodes other than the emptiest"},
          {"mean_wait_seconds", &PolicyOutcome::mean_wait, number()},
          {"rejected", &PolicyOutcome::rejected, number(), "jobs of a trace"}};
}

Fields<PolicyVerdict> policy_verdict_fields() {
  return {
      {"a", &PolicyVerdict::a, text()},
      {"b", &PolicyVerdict::b, text()},
      {"change", &PolicyVerdict::change, number(), "of B's mean peak against A's"},
      {"verdict", [](const PolicyVerdict& v) { return std::string(to_string(v.verdict.outcome)); },
       text(), "too-few, not-significant, not-meaningful or better"},
      {"b_wins", [](const PolicyVerdict& v) { return v.verdict.probability; }, number(),
       "share of traces on which B's peak is lower, ties half"},
      {"p_value", [](const PolicyVerdict& v) { return v.verdict.p_value; }, number()},
      {"needed", [](const PolicyVerdict& v) { return v.verdict.needed; }, whole(),
       "further traces"}};
}

Fields<DecisionRegret> regret_fields() {
  return {{"decisions", &DecisionRegret::decisions, whole()},
          {"futures", &DecisionRegret::futures, whole(), "of each decision"},
          {"with_loss", &DecisionRegret::with_loss, whole(),
           "decisions at which the best place depends on the future"},
          {"loss", &DecisionRegret::loss, number(), "mean, as a share of hindsight's peak"},
          {"largest", &DecisionRegret::largest, number()}};
}

Fields<PlacementStudy> placement_fields() {
  const auto of = [](auto member) {
    return [member](const PlacementStudy& study) { return study.question.traces.*member; };
  };
  const auto nodes = [](auto member) {
    return [member](const PlacementStudy& study) { return study.question.traces.nodes.*member; };
  };
  const auto asked = [](auto member) {
    return [member](const PlacementStudy& study) { return study.question.*member; };
  };
  return document_fields<PlacementStudy>(
      "trainyard/placement",
      {{"nodes", nodes(&PlacedNodes::count), whole(1)},
       {"devices", nodes(&PlacedNodes::devices), whole(1), "of a node"},
       {"bytes", nodes(&PlacedNodes::bytes), whole(1), "of a node"},
       {"jobs", of(&TraceQuestion::jobs), whole(1), "of a trace"},
       {"load", of(&TraceQuestion::load), number(), "devices asked for, of all"},
       {"training", asked(&PlacementQuestion::training), whole(1), "traces"},
       {"held_out", asked(&PlacementQuestion::held_out), whole(1), "traces"},
       {"kinds", [](const PlacementStudy& study) { return study.question.traces.kinds; },
        list_of(object(job_kind_fields()))},
       {"policies", &PlacementStudy::policies, list_of(object(policy_fields()))},
       {"verdicts", &PlacementStudy::verdicts, list_of(object(policy_verdict_fields()))},
       {"peak_bound_bytes", &PlacementStudy::peak_bound, number(),
        "no schedule that starts jobs as they arrive and pairs none has a lower mean peak"},
       {"paired_bound_bytes", &PlacementStudy::paired_bound, number(), "likewise with pairs"},
       {"hindsight_beaten", &PlacementStudy::beaten, whole(),
        "traces on which a policy costs less than hindsight"},
       {"regret", &PlacementStudy::regret, object(regret_fields()), "of single decisions"},
       {"paired_regret", &PlacementStudy::paired_regret, object(regret_fields()),
        "likewise with pairs"}});
}

const PolicyOutcome& outcome_of(const PlacementStudy& study, std::string_view name) {
  return *std::find_if(study.policies.begin(), study.policies.end(),
                       [&](const PolicyOutcome& one) { return one.name == name; });
}

void gap_line(Out& out, const PlacementStudy& study, std::string_view learned,
              std::string_view informed, std::string_view hindsight) {
  const double seen = outcome_of(study, hindsight).peak;
  if (seen <= 0) return;
  line(out,
       "  {} has a peak {:.1f} % above {}; told when running jobs end, it is still {:.1f} % above",
       learned, 100 * (outcome_of(study, learned).peak / seen - 1), hindsight,
       100 * (outcome_of(study, informed).peak / seen - 1));
}

void regret_line(Out& out, const DecisionRegret& regret, std::string_view where) {
  line(out,
       "  {}: at {} of {} decisions the best place depends on jobs yet to come; whoever does not "
       "know them loses at least {:.2f} % of hindsight's peak by one decision, up to {:.1f} %",
       where, regret.with_loss, regret.decisions, 100 * regret.loss, 100 * regret.largest);
}

}  // namespace

std::string placement_text(const PlacementStudy& study) {
  const PlacementQuestion& q = study.question;
  Out out;
  line(out,
       "{} of {} and {:.4g} GB; {} of {} jobs that ask for {:.3g} % of the devices, none of the {} "
       "that imitations learned from ({} decisions)\n",
       counted(q.traces.nodes.count, "node"), counted(q.traces.nodes.devices, "device"),
       static_cast<double>(q.traces.nodes.bytes) / 1e9, counted(q.held_out, "trace"), q.traces.jobs,
       100 * q.traces.load, q.training, study.learned_from);
  line(out, "  {:<20} {:>8} {:>9} {:>8} {:>7}", "jobs", "devices", "peak", "median", "weight");
  for (const JobKind& kind : q.traces.kinds)
    line(out, "  {:<20} {:>8} {:>6.4g} GB {:>8} {:>7.3g}", kind.name, kind.devices,
         static_cast<double>(peak_of(kind.wave)) / 1e9, format_duration(kind.median), kind.weight);
  line(out, "\n  {:<38} {:>9} {:>8} {:>9} {:>6} {:>9} {:>9} {:>11}", "policy", "peak", "",
       "peak/mean", "in use", "mean wait", "rejected", "fragmented");
  for (const PolicyOutcome& one : study.policies)
    line(out, "  {:<38} {:>6.1f} GB {:>+6.1f} % {:>9.2f} {:>4.0f} % {:>9} {:>9.2f} {:>9.0f} %",
         one.name, one.peak / 1e9, 100 * one.against_base, one.peak_to_mean, 100 * one.utilisation,
         format_duration(seconds(one.mean_wait)), one.rejected, 100 * one.fragmentation);
  line(out,
       "\nno schedule that starts jobs as they arrive has a mean peak below {:.1f} GB, with pairs "
       "below {:.1f} GB; hindsight is the best that search found, and was beaten on {}\n",
       study.peak_bound / 1e9, study.paired_bound / 1e9, counted(study.beaten, "trace"));
  for (const PolicyVerdict& one : study.verdicts)
    line(out, "{} against {}, peak {:+.1f} %: {}", one.b, one.a, 100 * one.change,
         outperforming_sentence(one.verdict, one.a, one.b));
  line(out, "\nunlearnable, because hindsight knows jobs that are yet to come:");
  gap_line(out, study, "imitation", "imitation, durations known", "hindsight");
  gap_line(out, study, "imitation with pairs", "imitation with pairs, durations known",
           "hindsight with pairs");
  regret_line(out, study.regret, "without pairs");
  regret_line(out, study.paired_regret, "with pairs");
  return out;
}

std::string placement_document(const PlacementStudy& study) {
  return write_json(placement_fields().write(study));
}

Json placement_schema() { return placement_fields().schema(); }

}  // namespace trainyard
