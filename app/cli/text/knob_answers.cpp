#include "app/cli/text/knob_answers.h"

#include <fmt/format.h>

#include "app/cli/text/knobs_text.h"
#include "core/base/units_text.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json document_of(const char* name) {
  Json json = Json::object();
  json.set("schema", schema_name(schema(name)));
  return json;
}

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

Json side_json(const PlanFigures& f) {
  Json json = Json::object();
  json.set("step_seconds", to_seconds(f.step));
  json.set("reserved_bytes", f.reserved.value);
  json.set("margin_bytes", f.margin.value);
  json.set("fits", f.fits);
  return json;
}

Json side_json(const PlanFigures& f, const std::string& name) {
  Json json = side_json(f);
  json.set("name", name);
  return json;
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

std::string boundary_document(const KnobBoundary& b) {
  Json json = document_of("trainyard/boundary");
  json.set("knob", b.key);
  json.set("sentence", b.sentence);
  json.set("tried", b.tried);
  if (b.last) json.set("last", value_json(*b.last));
  if (b.next) json.set("next", value_json(*b.next));
  return write_json(json);
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

std::string flip_document(const Flip& f, const FlipNames& names) {
  Json json = document_of("trainyard/flip");
  json.set("winner", side_json(f.winner, f.swapped ? names.b : names.a));
  json.set("runner_up", side_json(f.runner_up, f.swapped ? names.a : names.b));
  json.set("sentence", f.sentence);
  Json causes = Json::list();
  for (const FlipCause& c : f.causes) {
    Json one = Json::object();
    one.set("cause", c.name);
    one.set("winner_seconds", to_seconds(c.winner));
    one.set("runner_up_seconds", to_seconds(c.runner_up));
    if (c.enough) one.set("falls_to_seconds", to_seconds(c.falls_to));
    causes.push(std::move(one));
  }
  json.set("causes", std::move(causes));
  Json points = Json::list();
  for (const FlipPoint& p : f.points) {
    Json one = Json::object();
    one.set("figure", p.what);
    one.set("now", p.now);
    one.set("at", p.at);
    one.set("factor", p.factor);
    one.set("short_of", p.short_of);
    one.set("winner_seconds", to_seconds(p.winner));
    one.set("runner_up_seconds", to_seconds(p.runner_up));
    one.set("sentence", p.sentence);
    points.push(std::move(one));
  }
  json.set("flips", std::move(points));
  return write_json(json);
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

std::string owners_document(const Owners& o, const RecomputeEffect& effect) {
  Json json = document_of("trainyard/owners");
  json.set("device", o.device.value);
  json.set("phase", o.phase);
  json.set("at_seconds", to_seconds(o.at));
  json.set("peak_bytes", total(o.categories).value);
  Json modules = Json::list();
  for (const ModuleOwner& m : o.modules) {
    Json one = Json::object();
    one.set("block", m.block);
    one.set("module", m.module);
    if (!m.kind.empty()) one.set("kind", m.kind);
    one.set("bytes", m.bytes.value);
    one.set("layers", m.layers);
    one.set("microbatches", m.microbatches);
    modules.push(std::move(one));
  }
  json.set("activations", std::move(modules));
  Json others = Json::list();
  for (const auto& [name, bytes] : o.others) {
    Json one = Json::object();
    one.set("name", name);
    one.set("bytes", bytes.value);
    others.push(std::move(one));
  }
  json.set("other_activations", std::move(others));
  Json units = Json::list();
  for (const UnshardedUnit& u : o.units) {
    Json one = Json::object();
    one.set("block", u.block);
    one.set("layers", u.layers);
    one.set("weights_bytes", u.weights.value);
    one.set("gradients_bytes", u.gradients.value);
    one.set("stays", u.stays);
    units.push(std::move(one));
  }
  json.set("units", std::move(units));
  json.set("unsharded_bytes", o.unsharded_now.value);
  json.set("most_unsharded_bytes", o.unsharded_most.value);
  Json replicated = Json::list();
  for (const auto& [name, bytes] : o.replicated) {
    Json one = Json::object();
    one.set("state", name);
    one.set("bytes", bytes.value);
    replicated.push(std::move(one));
  }
  json.set("replicated", std::move(replicated));
  json.set("replicas", o.replicas);
  json.set("recompute", effect.sentence);
  return write_json(json);
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

std::string wrapping_document(const std::vector<Wrapping>& all) {
  Json json = document_of("trainyard/wrapping");
  Json list = Json::list();
  for (const Wrapping& w : all) {
    Json one = side_json(w.figures);
    one.set("layers", w.layers);
    one.set("unit_bytes", w.unit.value);
    one.set("unsharded_bytes", w.unsharded.value);
    one.set("gathers", w.gathers);
    list.push(std::move(one));
  }
  json.set("wrappings", std::move(list));
  return write_json(json);
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

std::string resharding_document(const std::vector<Resharding>& all) {
  Json json = document_of("trainyard/resharding");
  Json list = Json::list();
  for (const Resharding& r : all) {
    Json one = side_json(r.figures);
    one.set("ranks", r.ranks);
    one.set("held_bytes", r.held.value);
    list.push(std::move(one));
  }
  json.set("reshardings", std::move(list));
  return write_json(json);
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

Json trades_json(const std::vector<RecomputeTrade>& trades) {
  Json list = Json::list();
  for (const RecomputeTrade& t : trades) {
    Json one = Json::object();
    one.set("method", t.method);
    if (!t.words.empty()) one.set("how", t.words);
    one.set("kept_bytes", t.kept.value);
    one.set("peak_bytes", t.peak.value);
    one.set("seconds", to_seconds(t.time));
    if (t.optimal) one.set("optimal", *t.optimal);
    list.push(std::move(one));
  }
  return list;
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

std::string recomputation_document(const RecomputeStudy& study) {
  Json json = document_of("trainyard/recomputation");
  json.set("stage", study.stage);
  json.set("layers", study.layers);
  json.set("chain", trades_json(study.chain));
  json.set("block", study.block);
  json.set("ops", study.ops);
  json.set("layer", trades_json(study.layer));
  return write_json(json);
}

}  // namespace trainyard
