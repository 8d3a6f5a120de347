#include "app/cli/text/plans/knob_answers.h"

#include <fmt/format.h>

#include "app/cli/text/figure_fields.h"
#include "app/cli/text/plans/knobs_text.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string padded(Bytes bytes) { return fmt::format("{:>10}", readable(bytes)); }

std::string times(int count, const char* one) {
  return fmt::format("{} {}{}", count, one,
                     count == 1                            ? ""
                     : std::string_view(one).back() == 'h' ? "es"
                                                           : "s");
}

void write_modules(std::string& text, const Owners& o) {
  constexpr std::size_t kShown = 16;
  const Bytes whole = o.categories[static_cast<std::size_t>(Category::Activations)];
  text += fmt::format("\nactivations by module: {}\n", readable(whole));
  Bytes rest{};
  for (std::size_t i = 0; i < o.modules.size(); ++i) {
    const ModuleOwner& m = o.modules[i];
    if (i >= kShown) {
      rest += m.bytes;
      continue;
    }
    text +=
        fmt::format("{}  {:>5.1f} %  {} {}{}, {}, {}\n", padded(m.bytes), 100 * (m.bytes / whole),
                    m.block, m.module, m.kind.empty() ? "" : fmt::format(" ({})", m.kind),
                    times(m.layers, "layer"), times(m.microbatches, "microbatch"));
  }
  for (const auto& [name, bytes] : o.others)
    text += fmt::format("{}  {:>5.1f} %  {}\n", padded(bytes), 100 * (bytes / whole), name);
  if (rest.value > 0)
    text += fmt::format("{}  {:>5.1f} %  smaller ones\n", padded(rest), 100 * (rest / whole));
}

void write_kinds(std::string& text, const Owners& o) {
  std::vector<std::pair<std::string, Bytes>> kinds;
  for (const ModuleOwner& m : o.modules) {
    const std::string kind = m.kind.empty() ? "inputs of layers" : std::string(m.kind);
    auto same = kinds.begin();
    while (same != kinds.end() && same->first != kind) ++same;
    if (same == kinds.end())
      kinds.emplace_back(kind, m.bytes);
    else
      same->second += m.bytes;
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  text += "\nand by kind of operator\n";
  for (const auto& [kind, bytes] : kinds) text += padded(bytes) + "  " + kind + "\n";
}

void write_unsharded(std::string& text, const Owners& o) {
  text += "\nheld whole\n";
  for (const UnshardedUnit& u : o.units)
    text += fmt::format("{}  {}: weights {} {}, gradients {} while a layer runs, {}\n",
                        padded(u.weights + u.gradients), u.block, readable(u.weights),
                        u.stays ? "from forward to backward" : "while a layer runs",
                        readable(u.gradients), times(u.layers, "unit"));
  if (!o.units.empty())
    text += fmt::format("{}  of units at the peak; {} at most in a step\n", padded(o.unsharded_now),
                        readable(o.unsharded_most));
  for (const auto& [name, bytes] : o.replicated)
    text += fmt::format("{}  {}: on each of {} replicas\n", padded(bytes), name, o.replicas);
  if (o.units.empty() && o.replicated.empty())
    text += o.replicas == 1 ? "  there is one replica, so nothing could be divided\n"
                            : "  nothing: all state is divided\n";
}

using NamedBytes = std::pair<std::string, Bytes>;

Form<std::vector<NamedBytes>> named_bytes(const char* name) {
  return list_of(
      object(Fields<NamedBytes>{{name, &NamedBytes::first}, {"bytes", &NamedBytes::second}}));
}

Fields<KnobBoundary> boundary_fields() {
  const Form<KnobValue> value = object(knob_value_fields());
  return document_fields<KnobBoundary>(
      "trainyard/boundary", {{"knob", &KnobBoundary::key},
                             {"sentence", &KnobBoundary::sentence},
                             {"tried", &KnobBoundary::tried, "plans priced"},
                             {"last", &KnobBoundary::last, value, "that fits"},
                             {"next", &KnobBoundary::next, value, "the first beyond it"}});
}

struct FlipSide {
  std::string name;
  PlanFigures figures;
};

struct FlipSheet {
  FlipSide winner, runner_up;
  const Flip& flip;
};

Fields<FlipSide> flip_side_fields() {
  Fields<FlipSide> fields = {{"name", &FlipSide::name}};
  add_figures(fields, &FlipSide::figures);
  return fields;
}

Fields<FlipCause> flip_cause_fields() {
  const auto falls_to = [](const FlipCause& c) {
    return c.enough ? std::optional(c.falls_to) : std::nullopt;
  };
  return {{"cause", &FlipCause::name},
          {"winner_seconds", &FlipCause::winner},
          {"runner_up_seconds", &FlipCause::runner_up},
          {"falls_to_seconds", falls_to, number(), "at which the plans tie, all else equal"}};
}

Fields<FlipPoint> flip_point_fields() {
  return {{"figure", &FlipPoint::what},
          {"now", &FlipPoint::now},
          {"at", &FlipPoint::at},
          {"factor", &FlipPoint::factor, "at which the runner-up wins"},
          {"short_of", &FlipPoint::short_of, "at which it does not"},
          {"winner_seconds", &FlipPoint::winner},
          {"runner_up_seconds", &FlipPoint::runner_up},
          {"sentence", &FlipPoint::sentence}};
}

Fields<FlipSheet> flip_fields() {
  const auto of = [](auto member) {
    return [member](const FlipSheet& sheet) -> const auto& { return sheet.flip.*member; };
  };
  const Form<FlipSide> side = object(flip_side_fields());
  return document_fields<FlipSheet>(
      "trainyard/flip", {{"winner", &FlipSheet::winner, side},
                         {"runner_up", &FlipSheet::runner_up, side},
                         {"sentence", of(&Flip::sentence)},
                         {"causes", of(&Flip::causes), list_of(object(flip_cause_fields()))},
                         {"flips", of(&Flip::points), list_of(object(flip_point_fields()))}});
}

struct OwnersSheet {
  const Owners& owners;
  const RecomputeEffect& effect;
};

Fields<ModuleOwner> module_fields() {
  return {{"block", &ModuleOwner::block},          {"module", &ModuleOwner::module},
          {"kind", &ModuleOwner::kind, kWhereSet}, {"bytes", &ModuleOwner::bytes},
          {"layers", &ModuleOwner::layers},        {"microbatches", &ModuleOwner::microbatches}};
}

Fields<UnshardedUnit> unit_fields() {
  return {{"block", &UnshardedUnit::block},
          {"layers", &UnshardedUnit::layers},
          {"weights_bytes", &UnshardedUnit::weights},
          {"gradients_bytes", &UnshardedUnit::gradients},
          {"stays", &UnshardedUnit::stays}};
}

Fields<OwnersSheet> owners_fields() {
  using Sheet = OwnersSheet;
  const auto of = [](auto member) {
    return [member](const Sheet& sheet) -> const auto& { return sheet.owners.*member; };
  };
  return document_fields<Sheet>(
      "trainyard/owners",
      {{"device", of(&Owners::device)},
       {"phase", of(&Owners::phase)},
       {"at_seconds", of(&Owners::at)},
       {"peak_bytes", [](const Sheet& sheet) { return total(sheet.owners.categories); }},
       {"activations", of(&Owners::modules), list_of(object(module_fields()))},
       {"other_activations", of(&Owners::others), named_bytes("name")},
       {"units", of(&Owners::units), list_of(object(unit_fields()))},
       {"unsharded_bytes", of(&Owners::unsharded_now)},
       {"most_unsharded_bytes", of(&Owners::unsharded_most)},
       {"replicated", of(&Owners::replicated), named_bytes("state")},
       {"replicas", of(&Owners::replicas), whole(1)},
       {"recompute", [](const Sheet& sheet) { return sheet.effect.sentence; }}});
}

template <class Entry>
Fields<std::vector<Entry>> list_document(const char* kind, const char* key, Fields<Entry> entry) {
  using List = std::vector<Entry>;
  add_figures(entry, &Entry::figures);
  return document_fields<List>(kind, {{key, std::identity(), list_of(object(entry))}});
}

Fields<std::vector<Wrapping>> wrapping_fields() {
  return list_document<Wrapping>("trainyard/wrapping", "wrappings",
                                 {{"layers", &Wrapping::layers, whole(1)},
                                  {"unit_bytes", &Wrapping::unit},
                                  {"unsharded_bytes", &Wrapping::unsharded},
                                  {"gathers", &Wrapping::gathers}});
}

Fields<std::vector<Resharding>> resharding_fields() {
  return list_document<Resharding>(
      "trainyard/resharding", "reshardings",
      {{"ranks", &Resharding::ranks, whole(1)}, {"held_bytes", &Resharding::held}});
}

Fields<RecomputeStudy> recomputation_fields() {
  const auto trades =
      list_of(object(Fields<RecomputeTrade>{{"method", &RecomputeTrade::method},
                                            {"how", &RecomputeTrade::words, kWhereSet},
                                            {"kept_bytes", &RecomputeTrade::kept},
                                            {"peak_bytes", &RecomputeTrade::peak},
                                            {"seconds", &RecomputeTrade::time, number()},
                                            {"optimal", &RecomputeTrade::optimal}}));
  return document_fields<RecomputeStudy>("trainyard/recomputation",
                                         {{"stage", &RecomputeStudy::stage},
                                          {"layers", &RecomputeStudy::layers, whole(1)},
                                          {"chain", &RecomputeStudy::chain, trades},
                                          {"block", &RecomputeStudy::block},
                                          {"ops", &RecomputeStudy::ops, whole(1)},
                                          {"layer", &RecomputeStudy::layer, trades}});
}

}  // namespace

std::string boundary_text(const KnobBoundary& b) {
  std::string text = b.sentence + "\n";
  for (const auto& [side, value] :
       {std::pair{"last that fits", &b.last}, std::pair{"next", &b.next}}) {
    if (!*value) continue;
    const KnobValue& v = **value;
    text += fmt::format("  {:<14}  {:<24}  ", side, v.words.empty() ? v.value : v.words);
    text += v.legal ? fmt::format("{:>8}  {:>9}  {}\n", readable_step(v.figures.step),
                                  readable(v.figures.reserved), spare_words(v.figures.margin))
                    : "not legal\n";
  }
  return text + fmt::format("{} plans priced\n", b.tried);
}

Json boundary_schema() { return boundary_fields().schema(); }

std::string boundary_document(const KnobBoundary& b) {
  return write_json(boundary_fields().write(b));
}

std::string flip_text(const Flip& f, const FlipNames& names) {
  const char winner = f.swapped ? 'B' : 'A', other = f.swapped ? 'A' : 'B';
  const PlanFigures &a = f.swapped ? f.runner_up : f.winner,
                    &b = f.swapped ? f.winner : f.runner_up;
  std::string text;
  for (const auto& [letter, name, side] :
       {std::tuple{'A', &names.a, &a}, std::tuple{'B', &names.b, &b}})
    text +=
        fmt::format("{}  {}: {} a step, {} reserved, {}\n", letter, *name,
                    readable_step(side->step), readable(side->reserved), spare_words(side->margin));
  text += fmt::format("{} wins. {}.\n", winner, f.sentence);
  if (!f.causes.empty())
    text += fmt::format("\n{:<22} {:>10} {:>10}  {}\n", "slower in", std::string(1, winner),
                        std::string(1, other), fmt::format("{} ties if it falls to", other));
  for (const FlipCause& c : f.causes)
    text +=
        fmt::format("  {:<20} {:>10} {:>10}  {}\n", c.name, readable(c.winner),
                    readable(c.runner_up), c.enough ? readable(c.falls_to) : "not even without it");
  if (!f.points.empty()) text += fmt::format("\n{} wins with\n", other);
  for (const FlipPoint& p : f.points) text += "  " + p.sentence + "\n";
  return text;
}

Json flip_schema() { return flip_fields().schema(); }

std::string flip_document(const Flip& f, const FlipNames& names) {
  return write_json(flip_fields().write({{f.swapped ? names.b : names.a, f.winner},
                                         {f.swapped ? names.a : names.b, f.runner_up},
                                         f}));
}

std::string owners_text(const Owners& o, const RecomputeEffect& effect) {
  std::string text = fmt::format("peak of device {}, {} at {}: {}\n", o.device.value, o.phase,
                                 readable(o.at), readable(total(o.categories)));
  for (std::size_t c = 0; c < o.categories.size(); ++c) {
    if (o.categories[c].value == 0) continue;
    std::string name(to_string(static_cast<Category>(c)));
    std::replace(name.begin(), name.end(), '_', ' ');
    text += padded(o.categories[c]) + "  " + name + "\n";
  }
  write_modules(text, o);
  write_kinds(text, o);
  write_unsharded(text, o);
  return text + "\nrecomputation\n  " + effect.sentence + "\n";
}

Json owners_schema() { return owners_fields().schema(); }

std::string owners_document(const Owners& o, const RecomputeEffect& effect) {
  return write_json(owners_fields().write({o, effect}));
}

std::string wrapping_text(const Scenario& scenario, const std::vector<Wrapping>& all) {
  std::string text = plan_words(scenario, all.front().figures) +
                     "\nlayers that are gathered as one unit, by closed form; a plan's own units "
                     "are single layers\n\n";
  text += fmt::format("{:>6}  {:>10}  {:>13}  {:>9}  {:>8}  {:>8}  {:>9}  {}\n", "layers", "unit",
                      "whole at once", "gathers", "step", "work", "reserved", "verdict");
  const double now = all.front().figures.time_of_work();
  for (const Wrapping& w : all)
    text += fmt::format("{:>6}  {:>10}  {:>13}  {:>9}  {:>8}  {:>+6.1f} %  {:>9}  {}\n", w.layers,
                        readable(w.unit), readable(w.unsharded), w.gathers,
                        readable_step(w.figures.step), 100 * (w.figures.time_of_work() / now - 1),
                        readable(w.figures.reserved), spare_words(w.figures.margin));
  return text;
}

Json wrapping_schema() { return wrapping_fields().schema(); }

std::string wrapping_document(const std::vector<Wrapping>& all) {
  return write_json(wrapping_fields().write(all));
}

std::string resharding_text(const Scenario& scenario, const std::vector<Resharding>& all) {
  std::string text = plan_words(scenario, all.back().figures) +
                     " (reshard-after-forward=on)\nranks over which weights stay divided between "
                     "forward and backward, by closed form; 1 is reshard-after-forward=off\n\n";
  text += fmt::format("{:>6}  {:>9}  {:>8}  {:>8}  {:>9}  {}\n", "ranks", "held", "step", "work",
                      "reserved", "verdict");
  const double now = all.back().figures.time_of_work();
  for (const Resharding& r : all)
    text += fmt::format("{:>6}  {:>9}  {:>8}  {:>+6.1f} %  {:>9}  {}\n", r.ranks, readable(r.held),
                        readable_step(r.figures.step), 100 * (r.figures.time_of_work() / now - 1),
                        readable(r.figures.reserved), spare_words(r.figures.margin));
  return text;
}

Json resharding_schema() { return resharding_fields().schema(); }

std::string resharding_document(const std::vector<Resharding>& all) {
  return write_json(resharding_fields().write(all));
}

namespace {

void write_trades(std::string& text, const std::vector<RecomputeTrade>& trades) {
  text += fmt::format("{:>9}  {:>9}  {:>9}  {:>8}  {:<16} {}\n", "kept", "peak", "time", "again",
                      "method", "how");
  const Duration plain = trades.back().time;
  for (const RecomputeTrade& t : trades)
    text += fmt::format(
        "{:>9}  {:>9}  {:>9}  {:>+6.1f} %  {:<16} {}{}\n", readable(t.kept), readable(t.peak),
        readable(t.time), 100 * (to_seconds(t.time) / to_seconds(plain) - 1), t.method, t.words,
        t.optimal.has_value() && !*t.optimal ? " (not proven to be the least)" : "");
}

}  // namespace

std::string recomputation_text(const Scenario& scenario, const RecomputeStudy& study) {
  std::string text = fmt::format(
      "{}, stage {}: {} of one microbatch as a chain, each alone; the peak is of tensors, not of "
      "weights\n\n",
      scenario.model.name, study.stage, times(study.layers, "layer"));
  write_trades(text, study.chain);
  text += fmt::format(
      "\nthe {} ops of one layer of block {} as a graph; a plan states \"keep\" as "
      "recompute=keep=<nodes>, and recompute=optimal mixes such sets over layers\n\n",
      study.ops, study.block);
  write_trades(text, study.layer);
  if (study.ops > kMostProgramOps)
    text += fmt::format(
        "\nthe integer program is asked of layers of at most {} ops, since it takes minutes for "
        "more\n",
        kMostProgramOps);
  return text;
}

Json recomputation_schema() { return recomputation_fields().schema(); }

std::string recomputation_document(const RecomputeStudy& study) {
  return write_json(recomputation_fields().write(study));
}

}  // namespace trainyard
