// gate: what a lossy choice costs in answers, and whether that is within stated limits.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/gate_text.h"
#include "app/workspace/quality/gate_chart.h"
#include "core/base/error.h"
#include "core/io/documents/gate_json.h"

namespace trainyard {
namespace {

int run_gate(const Words& words, Streams& streams) {
  const std::vector<std::string>& sides = words.texts("");
  if (sides.size() < 2)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a reference and a model, as gate a.ckpt b.ckpt or gate "
                            "a.ckpt bits=4, found \"{}\" alone",
                            sides.front().substr(0, 80)),
                {"gate"});
  GateQuestion q;
  q.reference = read_gate_side(sides.front(), "", {"A"});
  for (std::size_t i = 1; i < sides.size(); ++i)
    q.models.push_back(read_gate_side(sides[i], q.reference.file, {"B"}));
  if (words.has("error-rates"))
    q.models = at_error_rates(
        q.models, read_error_rates(words.text("error-rates"), {"--error-rates"}), {"B"});
  q.lossless = words.has("lossless");
  q.vector_bits = static_cast<int>(words.integer("vectors", 2, 8, 0));
  q.data = words.text("data");
  q.samples = words.integer("samples", 0, INT64_MAX, 0);
  q.seed = static_cast<std::uint64_t>(words.integer("seed", 0, INT64_MAX, 1));
  apply_limits(q.limits, words.text("limit"), {"--limit"});
  Words scenario_words = words;
  if (!words.has("cluster")) scenario_words.add("cluster", "cpu:1");
  q.scenario = open_scenario(scenario_words, streams);
  q.corruptions = words.has("on") ? read_corruptions(words.text("on"), {"--on"})
                                  : usual_corruptions(q.scenario.model);
  const InterruptStop interrupt;
  q.stop = interrupt.token();
  StatusLine status(words, streams);
  q.progress = [&](double done) {
    if (status.is_due()) status.show(fmt::format("{:.0f} % answered", 100 * done));
  };
  const GateReport report = gate_study(q);
  status.clear();
  if (asks_for_picture(words)) write_picture(gate_picture(report), Theme::Dark, words, streams);
  deliver(words.has("json") ? write_json(gate_fields().write(report)) : gate_text(report), words,
          streams);
  return report.passes() ? kDone : kNotMet;
}

}  // namespace

Verb gate_verb() {
  return {
      .name = "gate",
      .summary =
          "Whether models that lost weights, bits or formats still answer as a reference does.",
      .positional = "A B",
      .positional_doc =
          "A: a checkpoint that run has saved, or initial: the weights it begins with. B: another "
          "one, or what is changed about A: "
          "sparsity=0.9 (the smallest weights become zero), bits=4 (per channel, or per group=16 "
          "of one, whose scale may have scale-bits=4), bit-errors=0.01 beside bits= (bits of codes "
          "are flipped, as in memory of a low "
          "voltage; the rate of the cluster's memory where that has one, as --cluster "
          "cpu:1,bit-errors=0.01; the mean of chips=50), rank=8, tt-rank=8 (of each matrix), "
          "precision=bf16, "
          "mxfp8, ... (as a plan's "
          "forward rounds), backend=reference (8-byte maths), joined by commas; several B are held "
          "against A one by one; exit 3 where one is beyond a limit",
      .positional_required = true,
      .positionals = 32,
      .fewer = true,
      .flags = with_scenario_flags(
          {{"on", "LIST",
            "corrupted inputs beside the clean ones, as noise:0.5,shift:2,contrast:0.5,replace:0.1 "
            "(default one of each that changes an input of the model)"},
           {"limit", "LIST",
            "the most that may be lost on any task: excess-error (default 0.5%), instability, "
            "flips, and eigenspace of embedding tables, as instability=2%,excess-error=none"},
           {"error-rates", "LIST",
            "asks about each B with bits= once at every rate of bit errors, as 0.001,0.01,2.5%, "
            "which --svg draws as a curve"},
           {"lossless", "",
            "lists what A's weights and the activations of its first samples take in 8 bits where "
            "groups of numbers have only as many bits as their widest needs"},
           {"vectors", "BITS",
            "lists how much signal A's weights have over the noise of so many bits (2 to 8) where "
            "vectors of a channel share a scale (VS-Quant), by the size of vectors and the bits of "
            "scales; --svg draws it where there is no curve of errors"},
           {"data", "NAME", "as run takes it; its samples for evaluation are asked about"},
           {"samples", "N", "asks about so many of them; else about all"},
           {"seed", "N", "of the corruptions (default 1)"},
           {"json", "",
            "one trainyard/gate@1 document and nothing else, which export --gate reads"},
           {"svg", "FILE", "draws the answers that one model alone has right there too"},
           {"png", "FILE", "the same as pixels, two a logical one"}}),
      .examples =
          {"gate initial bits=4 sparsity=0.9 --model mlp-small --data random --samples 100 --limit "
           "instability=2%",
           "gate initial bits=8 --error-rates 0.001,0.01 --lossless --model mlp-small --data "
           "random "
           "--samples 100 --limit excess-error=none",
           "gate initial bits=4,group=16,scale-bits=4 --vectors 4 --model mlp-small --data random "
           "--samples 100 --limit excess-error=none"},
      .run = run_gate};
}

}  // namespace trainyard
