#include "core/validation/rows/measured_row.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "core/base/csv.h"
#include "core/validation/shipped.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

std::string refusal(const std::string& csv) {
  return testing::refusal([&] { read_rows(csv, "own.csv"); });
}

TEST(MeasuredRow, ReadsWhatIsStatedAndLeavesTheRestEmpty) {
  const auto rows = read_rows(
      "id,measured_metric,measured_value,layers,tp,params_b,trust,notes\n"
      "mine,step_s,1.5,24,8,,B,\"two, words\"\n",
      "own.csv");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, "mine");
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[0].value, 1.5);
  EXPECT_EQ(rows[0].layers, 24);
  EXPECT_EQ(rows[0].tp, 8);
  EXPECT_EQ(rows[0].pp, std::nullopt);
  EXPECT_EQ(rows[0].parameters_billion, std::nullopt);
  EXPECT_EQ(rows[0].trust, Trust::B);
  EXPECT_EQ(rows[0].notes, "two, words");
  EXPECT_EQ(rows[0].group, "mine");
}

TEST(MeasuredRow, WrongFilesEachHaveTheirSentence) {
  const std::string head = "id,measured_metric,measured_value,tp,trust\n";
  EXPECT_EQ(refusal(""), "own.csv:1: expected a header and rows, found nothing");
  EXPECT_EQ(refusal("id,tp\nx,1\n"),
            "own.csv:1: expected a header with a column measured_metric, found 2 columns without "
            "it");
  EXPECT_EQ(refusal("id,id,measured_metric,measured_value\n"),
            "own.csv:1: expected the column id once, found it twice");
  EXPECT_EQ(refusal(head + "x,step_s,1,8\n"),
            "own.csv:2: expected 5 fields as in the header, found 4");
  EXPECT_EQ(refusal(head + "x,step_s,fast,8,A\n"),
            "own.csv:2: measured_value: expected a number above 0, found \"fast\"");
  EXPECT_EQ(refusal(head + "x,step_s,,8,A\n"),
            "own.csv:2: measured_value: expected a number, found nothing");
  EXPECT_EQ(refusal(head + "x,step_s,-1,8,A\n"),
            "own.csv:2: measured_value: expected a number above 0, found \"-1\"");
  EXPECT_EQ(refusal(head + "x,step_s,1,eight,A\n"),
            "own.csv:2: tp: expected a whole number of at least 1, found \"eight\"");
  EXPECT_EQ(refusal(head + "x,step_s,1,0,A\n"),
            "own.csv:2: tp: expected a whole number of at least 1, found \"0\"");
  EXPECT_EQ(refusal(head + "x,steps_s,1,8,A\n"),
            "own.csv:2: measured_metric: expected a metric such as step_s or tokens_s_gpu, found "
            "\"steps_s\"; did you mean \"step_s\"?");
  EXPECT_EQ(refusal(head + "x,step_s,1,8,D\n"),
            "own.csv:2: trust: expected A, B or C, found \"D\"");
  EXPECT_EQ(refusal(head + "x,step_s,1,8,A\nx,step_s,1,8,A\n"),
            "own.csv:3: expected an id of its own, found \"x\" a second time");
}

TEST(MeasuredRow, SoftwareAndExpertsHaveTheirWords) {
  const std::string head =
      "id,measured_metric,measured_value,dispatcher,cuda_graphs,release,shared_experts,dense_"
      "layers,"
      "routed_every,zero_group,capacity_factor,lora_rank,document_tokens\n";
  const MeasuredRow row =
      read_rows(head + "x,step_s,1,fused,on,2026-02,0,3,2,8,1.25,16,512\n", "own.csv").at(0);
  EXPECT_EQ(row.dispatcher, "fused");
  EXPECT_EQ(row.graphs, "on");
  EXPECT_EQ(row.release, "2026-02");
  EXPECT_EQ(row.shared_experts, 0);
  EXPECT_EQ(row.dense_layers, 3);
  EXPECT_EQ(row.routed_every, 2);
  EXPECT_EQ(row.zero_group, 8);
  EXPECT_EQ(row.capacity_factor, 1.25);
  EXPECT_EQ(row.lora_rank, 16);
  EXPECT_EQ(row.document_tokens, 512);
  EXPECT_EQ(refusal(head + "x,step_s,1,fuse,,,,,,,,,\n"),
            "own.csv:2: dispatcher: expected all-to-all or fused, found \"fuse\"; did you mean "
            "\"fused\"?");
  EXPECT_EQ(refusal(head + "x,step_s,1,,yes,,,,,,,,\n").substr(0, 48),
            "own.csv:2: cuda_graphs: expected on or off, foun");
  EXPECT_EQ(refusal(head + "x,step_s,1,,,26.02,,,,,,,\n").substr(0, 61),
            "own.csv:2: release: expected the year and month of a release,");
  EXPECT_EQ(refusal(head + "x,step_s,1,,,,,,3,,,,\n"),
            "own.csv:2: routed_every: expected 1 (all layers) or 2 (every second), found 3");
}

TEST(MeasuredRow, UnknownColumnsAreIgnoredAloud) {
  Diagnostics warnings;
  read_rows("measured_metric,measured_value,layer\nstep_s,1,2\n", "own.csv", &warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].message,
            "no column is called \"layer\"; did you mean \"layers\"?; it is ignored");
}

TEST(MeasuredRow, RowsOfOneDocumentAreOneFamily) {
  const auto rows = read_rows(
      "id,group,source,measured_metric,measured_value\n"
      "a,zbv/1,paper X [table 5],step_s,1\n"
      "b,zb/1,paper X [table 4],step_s,1\n"
      "c,zb/2,,step_s,1\n"
      "d,other/1,paper Y [table 1],step_s,1\n",
      "own.csv");
  EXPECT_EQ(rows[0].source_family, "zb");
  EXPECT_EQ(rows[1].source_family, "zb");
  EXPECT_EQ(rows[2].source_family, "zb");
  EXPECT_EQ(rows[3].source_family, "other");
}

std::string quoted(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string written(const std::vector<std::vector<std::string>>& table) {
  std::string text;
  for (const auto& record : table) {
    for (std::size_t i = 0; i < record.size(); ++i) text += (i > 0 ? "," : "") + quoted(record[i]);
    text += "\n";
  }
  return text;
}

bool same(const MeasuredRow& a, const MeasuredRow& b) {
  return a.id == b.id && a.group == b.group && a.source == b.source &&
         a.source_family == b.source_family && a.framework == b.framework && a.gpu == b.gpu &&
         a.notes == b.notes && a.also == b.also && a.layers == b.layers && a.hidden == b.hidden &&
         a.heads == b.heads && a.gpus == b.gpus && a.tp == b.tp && a.pp == b.pp && a.dp == b.dp &&
         a.micro_batch == b.micro_batch && a.global_batch == b.global_batch &&
         a.metric == b.metric && a.value == b.value && a.step_seconds == b.step_seconds &&
         a.trust == b.trust;
}

TEST(MeasuredRow, NeitherTheOrderOfColumnsNorThatOfRowsMeansAnything) {
  const auto records = parse_csv(shipped_rows(), "open.csv");
  std::map<std::string, MeasuredRow> known;
  for (const MeasuredRow& row : read_rows(shipped_rows(), "open.csv")) known.emplace(row.id, row);
  ASSERT_EQ(known.size(), records.size() - 1);
  std::mt19937 random(7);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::size_t> columns(records[0].fields.size()), rows(records.size() - 1);
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    std::iota(rows.begin(), rows.end(), std::size_t{1});
    std::shuffle(columns.begin(), columns.end(), random);
    std::shuffle(rows.begin(), rows.end(), random);
    rows.insert(rows.begin(), 0);
    std::vector<std::vector<std::string>> table;
    for (const std::size_t r : rows) {
      table.emplace_back();
      for (const std::size_t c : columns) table.back().push_back(records[r].fields[c]);
    }
    for (const MeasuredRow& row : testing::non_empty(read_rows(written(table), "open.csv")))
      EXPECT_TRUE(same(row, known.at(row.id))) << row.id;
  }
}

TEST(MeasuredRow, WhatShipsIsTheFile) {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/assets/validation/open.csv", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(shipped_rows(), text.str());
  EXPECT_EQ(published_rows().size(), 1167U);
}

TEST(MeasuredRow, EverySuspectIsARow) {
  const auto suspects = parse_csv(shipped_suspects(), "suspects.csv");
  const auto marked = std::count_if(published_rows().begin(), published_rows().end(),
                                    [](const MeasuredRow& row) { return !row.suspect.empty(); });
  EXPECT_EQ(static_cast<std::size_t>(marked), suspects.size() - 1);
}

}  // namespace
}  // namespace trainyard
