// models, hardware, methods: list what can be chosen, with sources.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "app/cli/text/lines.h"
#include "app/cli/text/literature.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/collectives.h"
#include "app/cli/verbs/efficiency.h"
#include "app/cli/verbs/measured_collectives.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "backends/launch.h"
#include "core/base/units_text.h"
#include "core/cluster/cluster.h"
#include "core/cost/physical.h"
#include "core/io/documents/device_json.h"
#include "core/io/models/load_model.h"
#include "core/methods/catalogue.h"
#include "core/model/formula.h"
#include "core/model/gradient_check.h"
#include "core/model/zoo/zoo.h"
#include "core/result/energy.h"

namespace trainyard {
namespace {

std::vector<Flag> catalogue_flags(std::vector<Flag> own) {
  own.push_back({"out", "FILE", "writes there instead of standard output"});
  own.push_back({"quiet", "", "no diagnostics"});
  return own;
}

// Models

void list_models(Out& out) {
  line(out, "{:<24} {:<12} {:>18} {:>18}  source", "name", "family", "parameters", "active");
  for (const ZooEntry& entry : zoo())
    line(out, "{:<24} {:<12} {:>18} {:>18}  {}{}", entry.name, entry.family, entry.parameters,
         entry.active_parameters, entry.source,
         entry.published_exactly ? "" : " (rounded there; counted here)");
}

void show_model(Out& out, const Model& model) {
  line(out, "{} ({})", model.name, model.family);
  line(out, "parameters         {}", parameters(model));
  line(out, "active parameters  {}", active_parameters(model));
  line(out, "layers             {}", layer_count(model));
  if (model.sequence > 1) line(out, "sequence           {}", model.sequence);
  line(out, "source             {}", model.source);
  for (const std::string& sentence : model.assumed) line(out, "assumed            {}", sentence);
  for (const Block& block : model.blocks) {
    line(out, "\n{} x {}, {} parameters each", block.count, block.name, parameters(block));
    for (const Tensor& tensor : block.graph.tensors)
      if (tensor.kind == TensorKind::Parameter)
        line(out, "  {:<32} {}{}", tensor.name, to_text(tensor.shape),
             tensor.tied_to.empty() ? "" : ", tied to " + tensor.tied_to);
    for (const Node& node : block.graph.nodes)
      if (node.formulas != nullptr)
        line(out, "  {:<32} {}", node.name + " (formula)", node.formulas->value.text());
  }
}

// Returns whether every gradient that a formula claims is the derivative.
bool show_gradients(Out& out, const Model& model) {
  const std::vector<GradientVerdict> list = check_gradients(model);
  if (list.empty())
    line(out, "No node of {} is a formula, so all its gradients are derived.", model.name);
  bool hold = true;
  for (const GradientVerdict& v : list) {
    line(out, "{} {}/{}, gradient of {}: {}.", v.holds() ? "holds" : "WRONG", v.block, v.node,
         v.input, to_text(v));
    hold = hold && v.holds();
  }
  if (!hold)
    line(out,
         "\nA gradient that differs on purpose says so in the model file: \"intended\": true.");
  return hold;
}

int run_models(const Words& words, Streams& streams) {
  Out out;
  bool hold = true;
  if (words.has("")) {
    const Model model = with_place("models", [&] { return load_model(words.text("")); });
    if (words.has("gradients"))
      hold = show_gradients(out, model);
    else
      show_model(out, model);
  } else if (words.has("gradients")) {
    refuse_flag("gradients",
                "expected a model whose gradients to check, as models FILE --gradients");
  } else {
    list_models(out);
  }
  deliver(out, words, streams);
  return hold ? kDone : kNotMet;
}

// Hardware

void list_devices(Out& out) {
  line(out, "{:<22} {:<26} {:>5} {:>10} {:>10} {:>14}", "name", "device", "year", "memory",
       "bandwidth", "16-bit dense");
  for (const Device& d : devices()) {
    const DType half = supports(d, DType::BF16) ? DType::BF16 : DType::F16;
    line(out, "{:<22} {:<26} {:>5} {:>10} {:>10} {:>14}", d.id, d.name, d.year,
         readable(d.memory.value), readable(d.memory_bandwidth.value),
         supports(d, half) ? readable(peak(d, half)) : "none");
  }
  line(out, "\nIn a cluster: DEVICE:COUNT[,OPTION]... with the options\n{}", kClusterOptions);
}

class DeviceText {
 public:
  DeviceText(Out& out, bool explain) : out_(out), explain_(explain) {}

  template <class T>
  void quantity(std::string_view what, const Sourced<T>& number) {
    row(what, readable(number.value), number.source);
  }
  void number(std::string_view what, const Sourced<double>& value) {
    row(what, to_text(value.value), value.source);
  }
  void row(std::string_view what, const std::string& value, std::string_view source) {
    if (explain_)
      line(out_, "  {:<26} {:>14}  {}", what, value, source);
    else
      line(out_, "  {:<26} {:>14}", what, value);
  }

 private:
  Out& out_;
  bool explain_;
};

// An idle power that nobody has published is assumed, with a range.
void show_idle(DeviceText& text, const Banded<Watts>& idle) {
  text.row("idle power", readable(idle.value),
           fmt::format("{} to {}; {}", readable(idle.low), readable(idle.high), idle.basis));
}

void show_device(Out& out, const Device& d, bool explain) {
  line(out, "{}: {} {}, {}", d.id, d.vendor, d.name, d.year);
  DeviceText text(out, explain);
  text.quantity("memory (" + d.memory_kind + ")", d.memory);
  text.quantity("memory bandwidth", d.memory_bandwidth);
  if (d.compression.value != 1) text.number("memory compression", d.compression);
  if (d.bit_errors.value > 0) text.number("memory bit errors", d.bit_errors);
  for (const Peak& one : d.peaks)
    text.quantity(fmt::format("{} dense peak", to_string(one.type)), one.rate);
  text.quantity("scale-up (" + d.scale_up_kind + ")", d.scale_up);
  text.row("scale-up domain", std::to_string(d.scale_up_domain), to_string(d.scale_up_topology));
  text.quantity("scale-up latency", d.scale_up_latency);
  text.quantity("network", d.network);
  text.quantity("network latency", d.network_latency);
  text.quantity("host link", d.host_link);
  text.quantity("kernel launch", d.launch);
  text.quantity("message start", d.message_start);
  text.quantity("driver and libraries", d.context);
  if (d.power.value.value > 0) text.quantity("board power", d.power);
  if (const std::optional<PowerDraw> draw = power_draw(d, 0)) show_idle(text, draw->idle);
  if (d.price_low) text.number("low price, USD/h", *d.price_low);
  if (d.price_high) text.number("high price, USD/h", *d.price_high);
  const Efficiency& e = d.efficiency;
  text.number("products reach", e.product);
  text.number("8-bit products, of that", e.eight_bit);
  text.number("TF32 products, of that", e.tf32);
  text.number("fused attention reaches", e.attention);
  text.number("memory streams reach", e.memory);
  text.number("scale-up reductions reach", e.scale_up);
  text.number("network reductions reach", e.network);
  text.number("one message reaches", e.send);
  text.number("all-to-all reaches", e.all_to_all);
}

// Shows what predictions use besides the device's figures.
void show_parameters(Out& out, std::span<const Parameter> which) {
  line(out, "\nparameters of predictions: value, what was believed before the fit, meaning");
  const Parameters shipped;
  for (const Parameter p : which) {
    const ParameterInfo& row = info(p);
    line(out, "  {:<26} {:>8} {:<6} {:>8}  {}", row.name, to_text(shipped[p]), row.unit,
         to_text(row.prior), row.meaning);
    line(out, "  {:<26} from {}{}", "", row.source,
         row.fitted_on.empty() ? "; not fitted" : fmt::format("; fitted on {}", row.fitted_on));
  }
}

void explain_all(Out& out) {
  for (const Device& d : devices()) show_device(out, d, true), out += '\n';
  std::vector<Parameter> all;
  for (const ParameterInfo& row : parameter_table()) all.push_back(row.parameter);
  show_parameters(out, all);
}

void explain(Out& out, const Device& d) {
  show_device(out, d, true);
  show_parameters(out, parameters_of(d));
}

// Processes work together where they are measured; else the first answers for all.
int run_hardware(const Words& words, Streams& streams) {
  if (words.has("collectives") && words.has("explain"))
    refuse_flag("explain", "expected none beside --collectives");
  if (words.has("collectives") && !words.has("")) return measure_collectives_here(words, streams);
  if (launch().rank > 0) return kDone;
  if (words.has("collectives") && words.has("json"))
    refuse_flag("json",
                "expected none beside --collectives of a cluster: measured collectives alone are a "
                "document, \"mpirun -n 4 trainyard hardware --collectives --json\"");
  const auto named = [&]() -> const Device& {
    return with_place("hardware", [&]() -> const Device& { return device(words.text("")); });
  };
  Out out;
  for (const char* flag : {"explain", "collectives", ""})
    if (words.has("efficiency") && words.has(flag))
      refuse_flag("efficiency", fmt::format("expected none beside {}: it compares all devices",
                                            *flag == 0 ? "a device" : "--" + std::string(flag)));
  if (words.has("efficiency"))
    out = words.has("json") ? efficiency_document() : efficiency_text();
  else if (words.has("collectives"))
    out = collectives_text(parse_cluster(words.text("")));
  else if (words.has("json"))
    out = device_document(named());
  else if (words.has("explain") && words.has(""))
    explain(out, named());
  else if (words.has("explain"))
    explain_all(out);
  else if (words.has(""))
    show_device(out, named(), false);
  else
    list_devices(out);
  deliver(out, words, streams);
  return kDone;
}

// Methods

std::string cite(const Paper& paper) {
  return fmt::format("{}, \"{}\", {}{}", paper.authors, paper.title, paper.venue,
                     paper.year > 0 ? fmt::format(" {}", paper.year) : "");
}

void list_methods(Out& out) {
  std::optional<MethodAxis> axis;
  for (const Method& m : methods()) {
    if (axis != m.axis) line(out, "{}{}", axis ? "\n" : "", to_string(m.axis));
    axis = m.axis;
    line(out, "  {:<22} {}", m.name, m.summary);
    line(out, "  {:<22} {}", "", cite(m.paper));
    line(out, "  {:<22} {}", "", m.file);
  }
}

// The table in core/methods/README.md; its links are relative to that folder.
void methods_table(Out& out) {
  line(out, "| method | does | paper | file |\n| --- | --- | --- | --- |");
  for (const Method& m : methods())
    line(out, "| `{}` | {} | {}, {} {} | [{}]({}) |", m.name, m.summary, m.paper.authors,
         m.paper.venue, m.paper.year, m.file.substr(m.file.rfind('/') + 1),
         m.file.substr(std::string_view("core/methods/").size()));
}

void show_method(Out& out, const Method& m) {
  line(out, "{} ({})\n{}\n", m.name, to_string(m.axis), m.summary);
  line(out, "gains       {}\ncosts       {}\nlegal when  {}", m.card.gains, m.card.costs,
       m.card.legal_when);
  line(out, "paper       {}\nfile        {}", cite(m.paper), m.file);
  if (!m.params.empty()) line(out, "\nparameters as --set takes them, with their defaults");
  for (const ParamSpec& spec : m.params)
    line(out, "  {:<32} {:<10} {}", fmt::format("{}.{}", m.name, spec.name), to_text(spec.fallback),
         spec.doc);
}

int run_methods(const Words& words, Streams& streams) {
  Out out;
  const std::string name = words.text("");
  if (const std::string leads = find_method(name) == nullptr ? where_it_leads(name) : "";
      !leads.empty())
    out = leads;
  else if (words.has(""))
    show_method(out, with_place("methods", [&]() -> const Method& { return method(name); }));
  else if (words.has("markdown"))
    methods_table(out);
  else
    list_methods(out);
  deliver(out, words, streams);
  return kDone;
}

}  // namespace

Verb models_verb() {
  return {
      .name = "models",
      .summary = "The models that have a name here, or one model with its tensors and gradients.",
      .positional = "M",
      .positional_doc = "a model, as llama-3-70b or a trainyard/model file",
      .flags = catalogue_flags(
          {{"gradients", "",
            "holds the gradients that the model gives its formulas against central "
            "differences; exit 3 where one that claims to be the derivative is not"}}),
      .examples = {"models", "models llama-3-70b", "models gpt-tiny --gradients"},
      .run = run_models};
}

Verb hardware_verb() {
  return {
      .name = "hardware",
      .summary = "The devices and their figures; with --explain, where each figure is from.",
      .positional = "NAME",
      .positional_doc = "a device, as h100-sxm; with --collectives a cluster, as h100-sxm:64",
      .flags = catalogue_flags(
          {{"explain", "", "the source of every number, and every parameter that predictions read"},
           {"efficiency", "",
            "what all devices compute for each watt, beside engines of a tutorial, and the energy "
            "of operations and memory accesses"},
           {"json", "",
            "one trainyard/device@1 document with both; with --efficiency trainyard/efficiency@1, "
            "or of measured collectives trainyard/collectives@1"},
           {"collectives", "",
            "of a cluster: algorithm, time and bandwidths of collectives by size; without one, of "
            "the "
            "processes that mpirun started: all-reduces measured beside their prices"}}),
      .examples = {"hardware", "hardware h100-sxm --explain", "hardware gb300 --json",
                   "hardware h100-sxm:64 --collectives", "hardware --efficiency --json"},
      .splits = true,
      .run = run_hardware};
}

Verb methods_verb() {
  return {.name = "methods",
          .summary = "The training methods: what each gains and costs, its paper and its file.",
          .positional = "NAME",
          .positional_doc = "a method, as zero, or a setting, as optimizer, or a word of one",
          .flags = catalogue_flags({{"markdown", "", "the table in core/methods/README.md"}}),
          .examples = {"methods", "methods zero", "methods optimizer"},
          .run = run_methods};
}

}  // namespace trainyard
