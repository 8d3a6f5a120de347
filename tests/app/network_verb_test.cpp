// `trainyard network` and `trainyard simulate --network flows`: their documents and what they
// print.
#include <gtest/gtest.h>

#include <string>

#include "app/cli/text/clusters/incast_text.h"
#include "app/cli/text/clusters/network_text.h"
#include "app/cli/text/clusters/shared_cluster_text.h"
#include "app/workspace/scenario/shared_cluster_document.h"
#include "core/io/json/json.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

NetworkUse used_network() {
  NetworkUse use;
  use.step = Duration{2'000'000}, use.alone = Duration{1'000'000};
  use.busiest = {{"port of device 3, out", 8, 1, {50e9}, 0.75}};
  use.waits = {{"data all-reduce", "other jobs", "port of device 3, out", Duration{500'000}}};
  use.incasts = {
      {"expert all-to-all", "port of device 5, in", 8, 7, Bytes{2'000'000}, 3, Duration{250'000}}};
  return use;
}

TEST(NetworkText, NamesTheBusiestLinkAndWhoWaitsForWhom) {
  const std::string text = network_text(used_network());
  for (const char* words :
       {"+100.0 %", "75.0 %  port of device 3, out", "7 like it", "data all-reduce for other jobs",
        "250 µs (12.5 %)  expert all-to-all: 7 senders of", "port of device 5, in and 7 like it"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  NetworkUse without = used_network();
  without.incasts.clear();
  EXPECT_EQ(network_text(without).find("incast"), std::string::npos);
  EXPECT_EQ(network_document(without).find("incasts"), std::string::npos);
}

TEST(NetworkText, CountsInWordsAndNamesNoNegativeNothing) {
  NetworkUse use = used_network();
  use.step = Duration{999'999};
  use.flows = 384, use.kinds = 1, use.links = 2;
  const std::string text = network_text(use);
  EXPECT_NE(text.find("+0.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("384 flows of 1 kind over 2 links"), std::string::npos) << text;
}

TEST(NetworkText, ItsDocumentConformsToItsSchema) {
  conforms(parse_json(network_document(used_network()), "network"), network_schema(), "network");
}

TEST(SharedClusterText, StatesHowMuchFasterAndConformsToItsSchema) {
  SharedClusterAnswer answer;
  answer.compute_seconds = 2;
  answer.sums = {{SwitchAdder::Arrival, 0.75, 2e-8},
                 {SwitchAdder::Ranks, 0, 3e-8},
                 {SwitchAdder::FixedPoint, 0, 4e-9}};
  answer.rows = {{"ring", 2, 4, 0.5, 3, 8e6, 0, {0.1, 3}},
                 {"4 trees", 1, 1.5, 0.25, 1, 2e6, 1, {}}};
  const std::string text = shared_cluster_text(answer);
  for (const char* words :
       {"8 jobs on 16 leaves and 4 spines of 1250 MB/s links reduce 1 MB each",
        "In 4 trees a lone job takes 0.50 of its ring's time.", "takes 0.58 of that with rings",
        "3 times as fast, 2 times in the mean", "with 4 connections between",
        "75.0 % change bits with the order in which packets come", "in fixed point none"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_EQ(text.find("without a slot"), std::string::npos) << text;
  conforms(parse_json(shared_cluster_document(answer), "answer"), shared_cluster_schema(),
           "answer");
}

TEST(SharedClusterText, SaysNothingOfShortFlowsWhereThereAreNone) {
  SharedClusterAnswer answer;
  answer.question.jobs = 1, answer.question.spines = 1;
  answer.rows = {{"ring", 2, 2, 0, 0, 8e6, 0, {}}, {"1 tree", 1.9, 1.9, 0, 0, 2e6, 0.1, {}}};
  const std::string text = shared_cluster_text(answer);
  for (const char* words : {"1 job on 16 leaves and 1 spine of", "links reduces 1 MB each",
                            "there are no short flows", "packets without a slot go around"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  for (const char* words : {"none", "short flow, mean", "as fast"})
    EXPECT_EQ(text.find(words), std::string::npos) << words << "\n" << text;
  conforms(parse_json(shared_cluster_document(answer), "answer"), shared_cluster_schema(),
           "answer");
}

TEST(IncastText, StatesWhatTheLinkGivesAndConformsToItsSchema) {
  IncastAnswer answer;
  answer.alone_seconds = 0.01, answer.pipe = 83;
  answer.question.senders = 1'000;
  answer.rows = {{"none", 0.2, 0.05, 400, 2.5, 256}, {"marks", 0.05, 0.2, 7, 1, 250}};
  const std::string text = incast_text(answer);
  for (const char* words :
       {"1000 senders answer", "have 5.0 % of the link without control and 20.0 % with marks",
        "run out 2.5 times in an exchange without control, 1.0 with marks",
        "hold 339 packets, less than one of each sender"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  conforms(parse_json(incast_document(answer), "answer"), incast_schema(), "answer");
}

}  // namespace
}  // namespace trainyard
