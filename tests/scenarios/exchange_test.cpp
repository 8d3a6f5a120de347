// Tests importing orders and splits of other programs into a plan and exporting them again.
#include "app/workspace/scenario/exchange.h"

#include <gtest/gtest.h>

#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/plans/pipeline_csv.h"
#include "core/methods/catalogue.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario with(const Import& found, Scenario s) {
  for (const std::string& setting : found.settings) apply_words(s.plan, setting);
  return s;
}

TEST(Exchange, WhatIsExportedIsImportedAgain) {
  int formats = 0;
  for (const Method& m : testing::non_empty(methods())) {
    if (m.axis != MethodAxis::Schedule) continue;
    for (const char* chunks : {"virtual-stages=1", "virtual-stages=2"}) {
      Scenario s = open({"gpt2",
                         "h100-sxm:8",
                         "",
                         {"pp=2", "global-batch=32", chunks, "schedule=" + std::string(m.name)}});
      if (has_errors(check(s))) continue;
      const Workload w = prepare(s);
      std::string text;
      try {
        text = export_format("pytorch-csv").write(w).text;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::Kind::Unsupported) << m.name;
        EXPECT_TRUE(m.settles || copies(m.placement) > 1) << m.name << ": " << e.what();
        continue;
      }
      const Import found = import_text(text, "again", s);
      const Workload again = prepare(with(found, s));
      EXPECT_EQ(to_text(order(again, schedule_shape(again))),
                to_text(parse_pipeline_csv(text, "text").order))
          << m.name;
      EXPECT_EQ(schedule_of(again.scenario.plan).placement, m.placement) << m.name;
      // Into a plan that says nothing of pipelines.
      Scenario bare = open({"gpt2", "h100-sxm:8", "", {}});
      bare = with(import_text(text, "again", bare), bare);
      EXPECT_FALSE(has_errors(check(bare))) << m.name;
      EXPECT_EQ(microbatches(prepare(bare).scenario.plan), microbatches(w.scenario.plan));
      ++formats;
    }
  }
  EXPECT_GE(formats, 4);
}

TEST(Exchange, LayoutsAreSplits) {
  Scenario s = open({"gpt2", "h100-sxm:4", "", {"pp=2"}});
  const Import found = import_text("Et*2|t*4|t*4|t*2L\n", "layout", s);
  EXPECT_EQ(found.settings, (std::vector<std::string>{"pp=2", "virtual-stages=2",
                                                      "schedule=interleaved", "split=2,4,4,2"}));
  s = with(found, s);
  EXPECT_EQ(export_format("megatron-layout").write(prepare(s)).text, "Ett|t*4|t*4|ttL\n");
}

TEST(Exchange, SaysWhatWasLeftOut) {
  const Import found = import_text(
      "0UNSHARD,0F0,0SEND_F0,0F1,0BW0,0BW1\n1RECV_F0,1F0,1B0,1W0,1F1,1B1,1W1\n", "csv", {});
  EXPECT_EQ(found.notes, (std::vector<std::string>{
                             "the order has 2 microbatches: global-batch must make as many",
                             "3 communication actions left out: they follow from the order",
                             "letters of PyTorch 2.5: B beside W is read as I, and BW as B"}));
}

}  // namespace
}  // namespace trainyard
