#include "app/cli/text/clusters/goodput_text.h"

#include <cmath>
#include <optional>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/documents/result_json.h"

namespace trainyard {
namespace {

constexpr double kJoulesOfKilowattHour = 3.6e6;

// A time that never comes has no number.
std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string range_words(const Banded<double>& b, double times, const char* unit) {
  return fmt::format("{} {} ({} to {})", readable_count(b.value * times), unit,
                     readable_count(b.low * times), readable_count(b.high * times));
}

std::string days_words(const Banded<double>& seconds) {
  return fmt::format("{} ({} to {})", readable_days(seconds.value), readable_days(seconds.low),
                     readable_days(seconds.high));
}

void write_cost(Out& out, const char* name, const TrainingCost& cost) {
  std::string words = days_words(cost.seconds);
  if (cost.money) words += ", " + range_words(*cost.money, 1, "US dollars");
  if (cost.energy)
    words += ", " + range_words({cost.energy->value.value, cost.energy->low.value,
                                 cost.energy->high.value, ""},
                                1 / kJoulesOfKilowattHour, "kWh");
  line(out, "{:<22} {}", name, words);
}

std::string recovery_words(Recovery recovery) {
  return recovery == Recovery::Peers ? "recovery from the memories of peers"
                                     : std::string(to_string(recovery)) + " recovery";
}

Fields<TrainingCost> training_cost_fields() {
  return {{"steps", &TrainingCost::steps, number()},
          {"work", &TrainingCost::work, number(), "tokens, or samples of a model without"},
          {"seconds", &TrainingCost::seconds, band<double>(number())},
          {"energy_joules", &TrainingCost::energy, band<Joules>(number()), "of all devices"},
          {"money", &TrainingCost::money, band<double>(number()), "US dollars"}};
}

Fields<LostTime> lost_time_fields() {
  return {{"saving", &LostTime::saving, number()},
          {"repeating", &LostTime::repeating, number(), "work and saves that failures take back"},
          {"restarting", &LostTime::restarting, number()}};
}

Fields<ComponentStops> component_fields() {
  return {{"component", &ComponentStops::component},
          {"stops", &ComponentStops::stops, number(), "expected over the training"}};
}

Fields<GoodputPhase> goodput_phase_fields() {
  Fields<GoodputPhase> fields = {{"global_batch", &GoodputPhase::batch, whole(1)}};
  fields.add(training_cost_fields(), &GoodputPhase::cost);
  return fields;
}

Fields<GoodputLever> lever_fields() {
  return {{"name", &GoodputLever::name},
          {"goodput", &GoodputLever::goodput, number(kShare), "after this change alone"},
          {"left", &GoodputLever::left, number(), "of what is lost now"},
          {"halves_at", &GoodputLever::halves_at, number(),
           "so many times as much of it halves what is lost"}};
}

Fields<IntervalPoint> interval_point_fields() {
  return {{"interval_seconds", &IntervalPoint::interval, number()},
          {"overhead", [](const IntervalPoint& p) { return finite(p.lost.sum()); }, number(),
           "seconds for each useful one"}};
}

Fields<WeekSpan> week_span_fields() {
  return {{"kind",
           [](const WeekSpan& span) {
             constexpr const char* kNames[] = {"running", "lost", "restarting", "waiting"};
             return kNames[static_cast<int>(span.kind)];
           },
           one_of({"running", "lost", "restarting", "waiting"})},
          {"start_seconds", &WeekSpan::start, number()},
          {"end_seconds", &WeekSpan::end, number()}};
}

Fields<DrawnWeeks> drawn_weeks_fields() {
  return {{"goodput", &DrawnWeeks::goodput, number(kShare)},
          {"useful_seconds", &DrawnWeeks::useful, number()},
          {"saving_seconds", &DrawnWeeks::saving, number()},
          {"lost_seconds", &DrawnWeeks::lost, number()},
          {"restarting_seconds", &DrawnWeeks::restarting, number()},
          {"waiting_seconds", &DrawnWeeks::waiting, number()},
          {"failures", &DrawnWeeks::failures},
          {"saves", &DrawnWeeks::saves, "that stayed"},
          {"spans", &DrawnWeeks::spans, list_of(object(week_span_fields())),
           "in order without gaps; saves lie within the running ones"}};
}

Fields<GoodputAnswer> goodput_fields() {
  const auto of = [](auto member) { return in(&GoodputAnswer::question, member); };
  const auto bytes = [](auto member) { return in(&GoodputAnswer::bytes, member); };
  const auto times = [](auto member) { return in(&GoodputAnswer::times, member); };
  const auto time = [](double GoodputAnswer::* member) {
    return [member](const GoodputAnswer& a) { return finite(a.*member); };
  };
  return document_fields<GoodputAnswer>(
      "trainyard/goodput",
      {{"model", &GoodputAnswer::model},
       {"cluster", &GoodputAnswer::cluster},
       {"devices", &GoodputAnswer::devices, whole(1)},
       {"nodes", &GoodputAnswer::nodes, whole(1)},
       {"does_not_fit",
        [](const GoodputAnswer& a) {
          return a.misfit.empty() ? std::nullopt : std::optional(a.misfit);
        },
        text(), "why the plan cannot run as it is; absent where it fits"},
       {"failures", of(&GoodputQuestion::record), "whose record; not used where mtbf is given"},
       {"recovery", of(&GoodputQuestion::recovery)},
       {"falls_back",
        [](const GoodputAnswer& a) {
          return a.fallback.empty() ? std::nullopt : std::optional(a.fallback);
        },
        text(), "why it is full where partial was asked for; absent elsewhere"},
       {"mtbf_seconds", [](const GoodputAnswer& a) { return finite(a.training.mtbf); }, number(),
        "between failures of the job; absent where nothing fails"},
       {"restart_seconds", [](const GoodputAnswer& a) { return a.training.restart; }, number(),
        "detection, scheduling and loading"},
       {"detection_seconds", of(&GoodputQuestion::detection), number()},
       {"scheduling_seconds", of(&GoodputQuestion::scheduling), number()},
       {"load_seconds", times(&CheckpointTimes::load), number()},
       {"save_seconds", times(&CheckpointTimes::blocking), number(),
        "in which training stands still"},
       {"flush_seconds", times(&CheckpointTimes::flush), number(),
        "after these until the save can be read"},
       {"weights_bytes", bytes(&CheckpointBytes::weights), "of a checkpoint"},
       {"optimizer_bytes", bytes(&CheckpointBytes::optimizer), "of a checkpoint"},
       {"written_bytes", bytes(&CheckpointBytes::written), "by the device that writes most"},
       {"read_bytes", bytes(&CheckpointBytes::read), "by the device that reads most"},
       {"node_storage", in(of(&GoodputQuestion::storage), &Storage::node), number(),
        "bytes a second of one node"},
       {"storage", in(of(&GoodputQuestion::storage), &Storage::all), number(),
        "bytes a second of all nodes together"},
       {"interval_seconds", time(&GoodputAnswer::interval), number(),
        "useful time between saves; absent where there are none"},
       {"young_seconds", time(&GoodputAnswer::young), number()},
       {"daly_seconds", time(&GoodputAnswer::daly), number()},
       {"best_seconds", time(&GoodputAnswer::best), number(), "by the exact expression"},
       {"least_seconds", &GoodputAnswer::least, number(), "that storage and the step allow"},
       {"goodput", &GoodputAnswer::goodput, band<double>(number(kShare)),
        "useful time over wall time; the effective training time ratio"},
       {"lost", &GoodputAnswer::lost, object(lost_time_fields()), "seconds for each useful one"},
       {"waiting", &GoodputAnswer::waiting, number(kShare), "share of wall time, for a spare node"},
       {"spares", of(&GoodputQuestion::spares), whole(), "nodes; absent: always enough"},
       {"repair_seconds", of(&GoodputQuestion::repair), number()},
       {"spares_for_a_thousandth", &GoodputAnswer::spares_for_a_thousandth, whole(),
        "with which the job waits for at most 0.1 % of the time"},
       {"stops", &GoodputAnswer::stops, number(), "expected over the training"},
       {"by_component", &GoodputAnswer::by_component, list_of(object(component_fields()))},
       {"undisturbed", &GoodputAnswer::undisturbed, object(training_cost_fields()),
        "without failures and saves"},
       {"cost", &GoodputAnswer::cost, object(training_cost_fields()), "with them"},
       {"phases", &GoodputAnswer::phases, kWhereSet, list_of(object(goodput_phase_fields())),
        "of a batch ramp, with failures"},
       {"lost_samples", &GoodputAnswer::lost_samples, number(kShare), "of a partial recovery"},
       {"copies_lost", &GoodputAnswer::copies_lost, number(kShare),
        "chance that a failure takes all copies at peers"},
       {"curve", &GoodputAnswer::curve, list_of(object(interval_point_fields()))},
       {"levers", &GoodputAnswer::levers, list_of(object(lever_fields())), "most gain first"},
       {"seed", of(&GoodputQuestion::seed), whole()},
       {"weeks", of(&GoodputQuestion::weeks), whole(1)},
       {"drawn", &GoodputAnswer::drawn, object(drawn_weeks_fields()), "weeks with drawn failures"},
       {"sentences", goodput_sentences, list_of(text())},
       {"leaves_out", goodput_leaves_out, list_of(text())},
       {"sources", goodput_sources, list_of(text())}});
}

}  // namespace

std::string goodput_text(const GoodputAnswer& a) {
  Out out;
  line(out, "{} on {}: {} {}, {}\n", a.model, a.cluster, readable_count(a.question.work),
       a.counts_tokens ? "tokens" : "samples", recovery_words(a.question.recovery));
  for (const std::string& sentence : goodput_sentences(a)) line(out, "{}", sentence);
  line(out, "\n{:<22} {} ({} to {}; {})", "goodput", readable_share(a.goodput.value),
       readable_share(a.goodput.low), readable_share(a.goodput.high), a.goodput.basis);
  line(out, "{:<22} {}, {} of weights and {} of optimizer state", "checkpoint",
       readable(a.bytes.total()), readable(a.bytes.weights), readable(a.bytes.optimizer));
  line(out, "{:<22} {} standing still, then {} until it can be read", "save",
       long_time(a.times.blocking), long_time(a.times.flush));
  line(out, "{:<22} {}: detection {}, scheduling {}, loading {}", "restart",
       long_time(a.training.restart), long_time(a.question.detection),
       long_time(a.question.scheduling), long_time(a.times.load));
  write_cost(out, "without failures", a.undisturbed);
  write_cost(out, "with failures", a.cost);
  for (const GoodputPhase& phase : a.phases)
    write_cost(out, fmt::format("  batch {}", phase.batch).c_str(), phase.cost);
  if (!a.by_component.empty()) {
    line(out, "\nexpected stops by component");
    for (const ComponentStops& one : a.by_component)
      line(out, "  {:<20} {:>8.1f}", to_string(one.component), one.stops);
  }
  if (!a.levers.empty()) {
    line(out, "\n  {:>8} {:>10} {:>10}  {}", "goodput", "of loss", "halved at", "change");
    for (const GoodputLever& lever : a.levers)
      line(out, "  {:>8} {:>10} {:>10}  {}", readable_share(lever.goodput),
           readable_share(lever.left),
           lever.halves_at ? fmt::format("{:.3g} times", *lever.halves_at) : "-", lever.name);
  }
  line(out, "\n{} (seed {}): {}, {} useful, {} of work lost",
       counted(a.question.weeks, "drawn week"), a.question.seed,
       counted(a.drawn.failures, "failure"), readable_share(a.drawn.goodput()),
       long_time(a.drawn.lost));
  line(out, "\nleaves out");
  for (const std::string& sentence : goodput_leaves_out(a)) line(out, "  {}", sentence);
  line(out, "sources");
  for (const std::string& sentence : goodput_sources(a)) line(out, "  {}", sentence);
  return out;
}

Json goodput_schema() { return goodput_fields().schema(); }

std::string goodput_document(const GoodputAnswer& a) {
  return write_json(goodput_fields().write(a));
}

}  // namespace trainyard
