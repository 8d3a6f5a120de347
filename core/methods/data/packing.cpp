// Packing puts documents that are shorter than a sequence into one sample, which padding would fill
// otherwise. Attention stays inside each document, so that a token learns what it would learn if
// its document were alone, and positions begin at 0 in each. Or microbatches are as wide as their
// longest document: sizes are then open until documents are drawn (core/model/open_widths.h).
//
//   pad      |aaaaa...| |bbb.....| |cc......|      packed   |aaaaabbb| |cc......|
//   longest  |aaaaa| and then |bbb| |cc.|, where the last two share a microbatch
//
//   keys that queries see, packed:   a              a fused kernel leaves out the blocks between
//                                    aa             documents: sum of squared lengths instead of
//                                    aaa            the squared sequence; unfused scores are
//                                       b           computed whole and masked
//                                       bb
//
// Krell et al., "Efficient Sequence Packing without Cross-contamination: Accelerating Large
// Language Models without Impacting Performance", arXiv 2107.02027, 2021. The kernel is that of
// variable lengths in FlashAttention-2 (Dao, 2023).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <tuple>

#include "core/methods/catalogue.h"
#include "core/model/ops.h"
#include "core/model/packed_samples.h"
#include "core/plan/document_lengths.h"
#include "core/plan/width_rule.h"

namespace trainyard {
namespace {

constexpr std::string_view kPackingPlace = "plan#/choices/packing";

Diagnostic no_packing(std::string message, std::string fix = "packing=none") {
  return {Diagnostic::Severity::Error,
          std::move(message),
          {std::string(kPackingPlace)},
          std::move(fix)};
}

// These ops carry something from a token to those after it, or take one token of a sample for all.
bool mixes_tokens(const Node& node) {
  const Op* const list[] = {&causal_convolution(), &state_space(), &gated_delta(),
                            &selective_scan(),     &lstm(),        &first_token()};
  return std::find(std::begin(list), std::end(list), node.op) != std::end(list);
}

// Returns why documents cannot be samples of the model, or share them; "" if they can.
std::string unfit_model(const Model& model, bool packed) {
  if (!model.tokens)
    return "documents are of tokens, and a sample of " + model.name + " is no sequence of them";
  for (const Block& block : model.blocks) {
    if (block.graph.side_input.valid())
      return "packing takes models of one stack, and " + block.name + " of " + model.name +
             " reads what an encoder makes of another text";
    for (const Node& node : block.graph.nodes)
      if (node.op == &place_images())
        return "documents are of text alone, and the tokens of images take places in the samples "
               "of " +
               model.name;
      else if (packed && mixes_tokens(node))
        return "documents share samples where only attention mixes tokens, found " + node.name +
               " (" + std::string(node.op->name) + ") in " + block.name;
  }
  return "";
}

bool is_packed(const Params& params) { return params.text("samples") == "packed"; }
bool is_open(const Params& params) { return params.text("samples") == "longest"; }
bool is_off(const Params& params) { return params.text("samples") == "none"; }

// Tensor ranks that divide the sequence need a width that they can.
std::int64_t dividing_ranks(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, "tensor-parallel");
  const bool divides = chosen == nullptr || !chosen->params.has("sequence-parallel") ||
                       chosen->params.flag("sequence-parallel");
  return divides ? std::max(1, plan.mesh.tp) : 1;
}

OpenWidths open_widths(const Scenario& s, const Params& params) {
  OpenWidths open = parse_width_rule(params.text("widths"));
  open.sequence = s.plan.batch.sequence;
  open.by_length = params.text("order") == "by-length";
  open.multiple = std::lcm(open.multiple, dividing_ranks(s.plan));
  for (std::int64_t& width : open.buckets)
    width = (width + open.multiple - 1) / open.multiple * open.multiple;
  return open;
}

// A search prepares thousands of plans of one workload, whose batches differ.
std::shared_ptr<const PackedSamples> samples_of(const Scenario& s, const Params& params) {
  constexpr std::size_t kKept = 64;
  using PackingKey = std::tuple<std::string, std::string, std::int64_t, std::string, std::string,
                                std::int64_t, std::int64_t, std::int64_t>;
  static std::mutex mutex;
  static std::map<PackingKey, std::shared_ptr<const PackedSamples>> made;
  const std::lock_guard lock(mutex);
  const bool open = is_open(params);
  const std::int64_t sequence = s.plan.batch.sequence;
  const DrawnSamples drawn{s.plan.batch.micro, s.plan.batch.global};
  PackingKey key(params.text("lengths"), params.text("samples"), sequence, "", "", 0, 0, 0);
  if (open)
    key = {params.text("lengths"),
           params.text("samples"),
           sequence,
           params.text("widths"),
           params.text("order"),
           drawn.micro,
           drawn.step,
           dividing_ranks(s.plan)};
  if (made.size() > kKept) made.clear();
  std::shared_ptr<const PackedSamples>& found = made[key];
  if (found == nullptr) {
    std::vector<std::int64_t> documents =
        lengths_of_documents(parse_document_lengths(params.text("lengths")), sequence);
    PackedSamples samples = is_packed(params) ? packed_samples(std::move(documents), sequence)
                                              : padded_samples(std::move(documents), sequence);
    if (open) {
      samples.open = open_widths(s, params);
      find_shares(*samples.open, samples.lengths, drawn);
    }
    found = std::make_shared<const PackedSamples>(std::move(samples));
  }
  return found;
}

// These keep a microbatch from having a length of its own; "" if nothing does.
std::string unfit_for_open_widths(const Scenario& s) {
  if (s.plan.mesh.cp > 1)
    return fmt::format(
        "context ranks divide a sequence whose length is known when the program is written, and "
        "microbatches are as long as their longest document (cp {})",
        s.plan.mesh.cp);
  for (const Block& block : s.model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &dispatch())
        return "experts have places for the tokens of whole sequences, found " + node.name +
               " in " + block.name + ", and microbatches are as long as their longest document";
  return "";
}

Diagnostics check_packing(const Scenario& s, const Params& params) {
  Diagnostics found;
  const bool packed = is_packed(params);
  const std::string& lengths = params.text("lengths");
  if (is_off(params)) {
    if (!lengths.empty())
      found.push_back({Diagnostic::Severity::Warning,
                       "lengths of documents say nothing of a plan whose samples are one text each",
                       {std::string(kPackingPlace)},
                       "packing=packed"});
    return found;
  }
  if (lengths.empty()) {
    found.push_back(no_packing("packing follows from the lengths of documents, and none are given",
                               "lengths=lognormal:600,1.1"));
    return found;
  }
  if (std::string why = unfit_model(s.model, packed); !why.empty())
    found.push_back(no_packing(std::move(why)));
  const std::int64_t sequence = s.plan.batch.sequence;
  if (is_open(params))
    if (std::string why = unfit_for_open_widths(s); !why.empty())
      found.push_back(no_packing(std::move(why), "packing=pad"));
  if (packed && s.plan.mesh.cp > s.plan.mesh.ulysses)
    found.push_back(no_packing(
        fmt::format("ranks of a ring have equal work where they divide one causal sequence, and "
                    "documents of other lengths lie in the pieces of each (cp {}); ranks that "
                    "exchange heads have all tokens",
                    s.plan.mesh.cp),
        "context-parallel.kind=ulysses"));
  const double cut = samples_of(s, params)->cut;
  if (cut > 0)
    found.push_back({Diagnostic::Severity::Warning,
                     fmt::format("{:.1f} % of the documents are longer than the sequence of {} "
                                 "tokens and are cut at its end",
                                 100 * cut, sequence),
                     {std::string(kPackingPlace) + "/lengths"},
                     fmt::format("seq={}", 2 * sequence)});
  return found;
}

void arrange_packing(Layout& layout, const Scenario& s, const Params& params) {
  if (is_off(params)) return;
  layout.binding.documents = samples_of(s, params);
}

std::string wrong_widths(std::string_view text) {
  try {
    parse_width_rule(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string wrong_lengths(std::string_view text) {
  if (text.empty()) return "";
  try {
    parse_document_lengths(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

Method packing() {
  return {
      .name = "packing",
      .axis = MethodAxis::Data,
      .summary =
          "Makes samples of documents: padded, as wide as the longest beside them, or several in "
          "one.",
      .paper = {"Efficient Sequence Packing without Cross-contamination", "Krell et al.",
                "arXiv 2107.02027", 2021},
      .card = {.gains =
                   "packed: fewer samples for the same documents, nearly no padding, and fused "
                   "attention works on the sum of squared lengths instead of the squared "
                   "sequence; longest: padding only beside a longer document of the same "
                   "microbatch, nearly none where a step is dealt by length",
               .costs = "packed: a kernel with bounds of documents, and unfused attention computes "
                        "all scores and masks them; longest: microbatches of unequal time, and "
                        "memory for the longest",
               .legal_when = "attention alone mixes tokens (no recurrences, no encoder beside a "
                             "decoder); no ring of context ranks"},
      .file = "core/methods/data/packing.cpp",
      .params = {{.name = "samples",
                  .fallback = std::string("none"),
                  .doc =
                      "what a sample is: one text, one document and padding behind it (up to the "
                      "sequence, or to the longest of its microbatch), or several documents",
                  .values = {"none", "pad", "longest", "packed"}},
                 {.name = "lengths",
                  .fallback = std::string(),
                  .doc = "tokens of documents: fixed:512, uniform:64-1024, lognormal:600,1.1 "
                         "(median, deviation of the logarithm) or histogram:128*3,512*1",
                  .refusal = wrong_lengths},
                 {.name = "widths",
                  .fallback = std::string(kAnyWidth),
                  .doc = "where samples are as wide as their longest: any width, multiples such as "
                         "multiple:64, or buckets such as 128,256,512",
                  .refusal = wrong_widths},
                 {.name = "order",
                  .fallback = std::string("drawn"),
                  .doc = "where samples are as wide as their longest: documents of a step in "
                         "microbatches as they are drawn, or by length",
                  .values = {"drawn", "by-length"}}},
      .check = check_packing,
      .arrange = arrange_packing,
  };
}

}  // namespace trainyard
