// Packing puts documents that are shorter than a sequence into one sample, which padding would fill
// otherwise. Attention stays inside each document, so that a token learns what it would learn if
// its document were alone, and positions begin at 0 in each.
//
//   pad      |aaaaa...| |bbb.....| |cc......|      packed   |aaaaabbb| |cc......|
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
#include <memory>
#include <mutex>
#include <tuple>

#include "core/methods/catalogue.h"
#include "core/model/ops.h"
#include "core/model/packed_samples.h"
#include "core/plan/document_lengths.h"

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

// A search prepares thousands of plans of one workload, one after the other.
std::shared_ptr<const PackedSamples> samples_of(const std::string& lengths, bool packed,
                                                std::int64_t sequence) {
  using PackingKey = std::tuple<std::string, bool, std::int64_t>;
  static std::mutex mutex;
  static PackingKey last;
  static std::shared_ptr<const PackedSamples> made;
  const std::lock_guard lock(mutex);
  const PackingKey key(lengths, packed, sequence);
  if (made == nullptr || key != last) {
    std::vector<std::int64_t> documents =
        lengths_of_documents(parse_document_lengths(lengths), sequence);
    made = std::make_shared<const PackedSamples>(
        packed ? packed_samples(std::move(documents), sequence)
               : padded_samples(std::move(documents), sequence));
    last = key;
  }
  return made;
}

bool is_packed(const Params& params) { return params.text("samples") == "packed"; }
bool is_off(const Params& params) { return params.text("samples") == "none"; }

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
  if (packed && s.plan.mesh.cp > s.plan.mesh.ulysses)
    found.push_back(no_packing(
        fmt::format("ranks of a ring have equal work where they divide one causal sequence, and "
                    "documents of other lengths lie in the pieces of each (cp {}); ranks that "
                    "exchange heads have all tokens",
                    s.plan.mesh.cp),
        "context-parallel.kind=ulysses"));
  const double cut = samples_of(lengths, packed, sequence)->cut;
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
  layout.binding.documents =
      samples_of(params.text("lengths"), is_packed(params), s.plan.batch.sequence);
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
      .summary = "Fills samples with several documents; attention stays inside each.",
      .paper = {"Efficient Sequence Packing without Cross-contamination", "Krell et al.",
                "arXiv 2107.02027", 2021},
      .card = {.gains = "fewer samples for the same documents: nearly no padding; fused attention "
                        "works on the sum of squared lengths instead of the squared sequence",
               .costs = "a kernel with bounds of documents; unfused attention computes all scores "
                        "and masks them",
               .legal_when = "attention alone mixes tokens (no recurrences, no encoder beside a "
                             "decoder); no ring of context ranks"},
      .file = "core/methods/data/packing.cpp",
      .params = {{.name = "samples",
                  .fallback = std::string("none"),
                  .doc = "what a sample is: one text, one document and padding behind it, or "
                         "several documents",
                  .values = {"none", "pad", "packed"}},
                 {.name = "lengths",
                  .fallback = std::string(),
                  .doc = "tokens of documents: fixed:512, uniform:64-1024, lognormal:600,1.1 "
                         "(median, deviation of the logarithm) or histogram:128*3,512*1",
                  .refusal = wrong_lengths}},
      .check = check_packing,
      .arrange = arrange_packing,
  };
}

}  // namespace trainyard
