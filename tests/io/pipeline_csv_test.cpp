#include "core/io/plans/pipeline_csv.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/io/documents/order_json.h"
#include "core/methods/catalogue.h"
#include "tests/support/orders.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string pipeline_refusal(const std::string& text) {
  return testing::refusal([&] { parse_pipeline_csv(text, "pp.csv"); });
}

std::string refused_export(const std::string& order) {
  try {
    pipeline_csv(parse_order(order));
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(PipelineCsv, RowsAreRanksAndCellsActions) {
  const PipelineCsv csv =
      parse_pipeline_csv("0F0,0F1,,0I0,0W0,0B1\r\n,1F0, 1B0 ,\"1F1\",1B1\r\n", "pp.csv");
  EXPECT_EQ(to_text(csv.order), "d0/compute  0F0 0F1 0I0 0W0 0B1\nd1/compute  1F0 1B0 1F1 1B1\n");
  EXPECT_EQ(csv.stages, 2);
  EXPECT_EQ(csv.microbatches, 2);
  EXPECT_FALSE(csv.older);
  EXPECT_EQ(csv.left_out, 0);
}

TEST(PipelineCsv, CommunicationIsKnownAndLeftOut) {
  const PipelineCsv csv = parse_pipeline_csv(
      "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
      "1RECV_F0,1F0,1B0,1SEND_B0\n",
      "pp.csv");
  EXPECT_EQ(to_text(csv.order), "d0/compute  0F0 0B0\nd1/compute  1F0 1B0\n");
  EXPECT_EQ(csv.left_out, 7);
}

TEST(PipelineCsv, AForwardAndABackwardOfOneCellRunTogether) {
  const PipelineCsv csv =
      parse_pipeline_csv("0F0,1F0,(0F1;1B0)OVERLAP_F_B,(0B0;1F1)OVERLAP_F_B,1B1,0B1\n", "pp.csv");
  EXPECT_EQ(to_text(csv.order), "d0/compute  0F0 1F0 0F1 &1B0 0B0 &1F1 1B1 0B1\n");
  EXPECT_EQ(csv.in_turn, 0);
}

TEST(PipelineCsv, OtherOverlappedCellsRunOneAfterTheOther) {
  const PipelineCsv csv = parse_pipeline_csv(
      "0F0,(0F1;1F0)OVERLAP_F_B,(1B0;0B0)OVERLAP_F_B,(1F1;1B1)OVERLAP_F_B,0B1\n", "pp.csv");
  EXPECT_EQ(to_text(csv.order), "d0/compute  0F0 0F1 1F0 1B0 0B0 1F1 1B1 0B1\n");
  EXPECT_EQ(csv.in_turn, 3);
}

// PyTorch 2.5 wrote B for the input's part where a W follows, and BW for both.
TEST(PipelineCsv, LettersOfOlderFiles) {
  const PipelineCsv with_w = parse_pipeline_csv("0F0,0F1,0B0,0W0,0B1,0W1\n", "pp.csv");
  EXPECT_EQ(to_text(with_w.order), "d0/compute  0F0 0F1 0I0 0W0 0I1 0W1\n");
  EXPECT_TRUE(with_w.older);
  const PipelineCsv mixed = parse_pipeline_csv("0F0,0F1,0BW0,0B1,0W1\n", "pp.csv");
  EXPECT_EQ(to_text(mixed.order), "d0/compute  0F0 0F1 0B0 0I1 0W1\n");
  EXPECT_EQ(pipeline_refusal("0F0,0BW0,0F1,0I1,0W1\n"),
            "pp.csv: \"BW\" and \"I\" are of different releases of PyTorch");
}

TEST(PipelineCsv, RefusalsSayRowAndCell) {
  const std::string action = "expected an action such as 2F0, 2I0, 2W0, 2B0 or 2SEND_F0, found ";
  EXPECT_EQ(pipeline_refusal("0F0,0X0\n"), "pp.csv:1:2: " + action + "\"0X0\"");
  EXPECT_EQ(pipeline_refusal("0F0\n1F0,1F\n"), "pp.csv:2:2: " + action + "\"1F\"");
  EXPECT_EQ(pipeline_refusal("0F0,0F0x\n"), "pp.csv:1:2: " + action + "\"0F0x\"");
  EXPECT_EQ(pipeline_refusal("0F99999999999\n"), "pp.csv:1:1: " + action + "\"0F99999999999\"");
  EXPECT_EQ(pipeline_refusal("0F-1\n"), "pp.csv:1:1: " + action + "\"0F-1\"");
  EXPECT_EQ(pipeline_refusal("(0F0)OVERLAP_F_B\n"),
            "pp.csv:1:1: expected two actions in \"(0F0)OVERLAP_F_B\"");
  EXPECT_EQ(pipeline_refusal("(0F0;0B1\n"),
            "pp.csv:1:1: expected a pair such as (0F7;7B3)OVERLAP_F_B, found \"(0F0;0B1\"");
  EXPECT_EQ(pipeline_refusal("0F0\n\n1F0\n"),
            "pp.csv:2: expected the cells of a rank, found an empty line");
  EXPECT_EQ(pipeline_refusal(" \n"), "pp.csv: expected one row a rank, found nothing");
}

// A rank works one step after its neighbour has made what it needs, so that even a reader that
// receives step by step finds it there.
TEST(PipelineCsv, IsWrittenInStepsThatWait) {
  const ScheduleShape shape{.devices = 2, .stages = 2, .microbatches = 3};
  EXPECT_EQ(pipeline_csv(one_f_one_b().order(shape, {})),
            "0F0,0F1,,0B0,0F2,0B1,,0B2\n"
            ",1F0,1B0,1F1,1B1,1F2,1B2\n");
}

TEST(PipelineCsv, AnyOrderOfOneLaneADeviceReadsBackAsItself) {
  testing::Dice dice(5);
  for (int cases = 0; cases < 200; ++cases) {
    const ScheduleShape shape = testing::random_shape(dice);
    Order order = testing::random_order(shape, dice);
    testing::pair_some(order, shape, dice);
    const PipelineCsv again = parse_pipeline_csv(pipeline_csv(order), "again");
    EXPECT_EQ(again.order, order);
    EXPECT_EQ(again.stages, shape.stages);
    EXPECT_EQ(again.microbatches, shape.microbatches);
  }
}

TEST(PipelineCsv, SaysWhatItCannotSay) {
  const std::string start = "PyTorch's pipeline CSV cannot say it: ";
  EXPECT_EQ(refused_export("d0/a  0F0 0B0 0U0"),
            start + "0U0 is of an order that updates weights itself");
  EXPECT_EQ(refused_export("d0/a  0F0 0B0\nd0/b  0F1 0B1"), start + "d0 works on several lanes");
  EXPECT_EQ(refused_export("d0/a  0F0 0B0\nd1/a  0F1/1 0B1/1"),
            start + "stage 0 is on d0 and on d1");
  EXPECT_EQ(refused_export("d0/a +5ns  0F0 0B0"), start + "lane a begins later");
  EXPECT_EQ(refused_export("d0/a  0F0 0B0\n0F0 < 0B0"),
            start + "the order has precedences of its own");
  EXPECT_EQ(refused_export("d1/a  0F0 0B0"), start + "d0 does nothing");
  EXPECT_EQ(refused_export("d0/a  0F0 0B0\nd1/a  1B0 1F0"),
            start + "its lanes wait for each other");
}

TEST(PipelineCsv, IsReadWhereverAnOrderIs) {
  EXPECT_EQ(to_text(order_of("0F0,0B0\n", "file")), "d0/compute  0F0 0B0\n");
  EXPECT_EQ(to_text(order_of("d0/a, b  0F0 0B0\n", "file")), "d0/a, b  0F0 0B0\n");
}

}  // namespace
}  // namespace trainyard
