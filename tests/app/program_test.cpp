// The program as scripts see it: every example and every recipe of the help runs, exit codes mean
// what the help says, and documents hold what is promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/topics.h"
#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/json/json.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"
#include "tests/support/cases.h"
#include "tests/support/conforms.h"
#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

const std::string kFits =
    " --model llama-3-8b --cluster h100-sxm:64 --set tp=8 --set global-batch=64";
const std::string kTooLarge =
    " --model llama-3-70b --cluster h100-sxm:8 --set tp=8 --set global-batch=8 --set seq=8192";

// Returns whether a test runs the example or topic of this number. Sanitizers take minutes for all
// of them, so that every sixth has to do.
bool is_tried(int number) { return !testing::sanitized() || number % 6 == 0; }

// The line as a test runs it: what takes minutes is cut to one step without evaluation, one round
// or one source.
std::string cut_short(std::string line) {
  const auto replace = [&](const std::string& words, const std::string& value) {
    const std::size_t at = line.find(words);
    if (at == std::string::npos) return false;
    const std::size_t number = at + words.size();
    line.replace(number, line.find_first_of(" \n", number) - number, value);
    return true;
  };
  const struct {
    const char *verb, *flag, *value;
  } cuts[] = {{"hogwild", "--samples", "2000"},
              {"branches", "--rounds", "1"},
              {"sharpness", "--products", "10"},
              {"calibrate", "--seconds", "1"},
              {"gate", "--samples", "20"}};
  for (const auto& [verb, flag, value] : cuts)
    if (line.substr(0, line.find(' ')) == verb &&
        line.find("--cost roofline") == std::string::npos &&
        !replace(" " + std::string(flag) + " ", value))
      line += " " + std::string(flag) + " " + value;
  if (line.find(" --sharpness ") != std::string::npos) line += " --products 10";
  replace(" --networks ", "2");
  // Fitting without each of all sources takes minutes; without one it takes seconds.
  if (line.find(" --cross") != std::string::npos) line += " --source korthikanti";
  if (!line.starts_with("run ")) return line;
  replace(" --steps ", "1");
  replace("warmup=", "0");
  if (const std::size_t evaluate = line.find("--evaluate"); evaluate != std::string::npos)
    line.erase(evaluate, std::string("--evaluate").size());
  return line;
}

// Every example of the verbs.
std::set<std::string, std::less<>> examples_of_the_help() {
  std::set<std::string, std::less<>> all;
  for (const Verb& verb : verbs()) all.insert(verb.examples.begin(), verb.examples.end());
  return all;
}

TEST(Program, EveryExampleOfTheHelpRuns) {
  int examples = 0;
  for (const Verb& verb : testing::non_empty(verbs()))
    for (const std::string_view example : verb.examples) {
      if (!is_tried(examples++)) continue;
      const TemporaryFolder folder;
      const Ran ran = trainyard(cut_short(std::string(example)), folder);
      EXPECT_TRUE(ran.exit == kDone || ran.exit == kNotMet) << example << "\n" << ran.err;
      EXPECT_NE(help(verb).find(example), std::string::npos);
    }
}

// The recipe with files of ours in place of the reader's.
std::string with_our_files(std::string line) {
  for (const auto& [theirs, ours] :
       {std::pair{std::string(" assets/"), " " TRAINYARD_SOURCE_DIR "/assets/"},
        {"FILE.csv", TRAINYARD_SOURCE_DIR "/assets/validation/open.csv"},
        {"FILE.pickle", TRAINYARD_SOURCE_DIR "/tests/fuzz/corpus/memory_snapshot/protocol4.pickle"},
        {"MODEL.json", TRAINYARD_SOURCE_DIR "/assets/models/own-gradients.json"},
        {"FOLDER", "."}})
    for (std::size_t at = line.find(theirs); at != std::string::npos;
         at = line.find(theirs, at + std::string_view(ours).size()))
      line.replace(at, theirs.size(), ours);
  return line;
}

// A line that is indented but not read as part of a recipe would be shown and never run.
TEST(Program, EveryIndentedLineOfATopicIsPartOfARecipe) {
  int found = 0;
  for (const Topic& topic : topics()) {
    bool continued = false;
    std::istringstream lines(topic.text);
    for (std::string line; std::getline(lines, line); continued = line.ends_with('\\')) {
      EXPECT_FALSE(line.starts_with("#")) << line << ": a topic begins with \"## NAME: QUESTION\"";
      if (!line.starts_with(' ') || continued) continue;
      EXPECT_TRUE(line.starts_with("    trainyard ")) << line;
      ++found;
    }
    found -= static_cast<int>(recipes(topic).size());
  }
  EXPECT_EQ(found, 0);
}

// Recipes of one topic share a folder, because some read what the one before has written; what is
// an example of its verb too, and so writes nothing that another one reads, runs there.
TEST(Program, EveryRecipeRuns) {
  const auto examples = examples_of_the_help();
  int tried = 0;
  for (const Topic& topic : topics()) {
    EXPECT_FALSE(recipes(topic).empty()) << topic.name;
    if (!is_tried(tried++)) continue;
    const TemporaryFolder folder;
    for (const std::string& recipe : recipes(topic)) {
      if (examples.contains(recipe)) continue;
      const std::string line = cut_short(with_our_files(recipe));
      const Ran ran = trainyard(line, folder);
      EXPECT_TRUE(ran.exit == kDone || ran.exit == kNotMet) << line << "\n" << ran.err;
    }
  }
  EXPECT_GE(tried, 10);
}

TEST(Program, EveryCommandLineOfTheReadmeRuns) {
  const std::string readme = file_text(TRAINYARD_SOURCE_DIR "/README.md");
  const std::string start = "    ./packaging/run ";
  int lines = 0;
  for (std::size_t at = readme.find(start); at != std::string::npos;
       at = readme.find(start, at + 1)) {
    const std::size_t from = at + start.size();
    const std::string line = readme.substr(from, readme.find('\n', from) - from);
    if (line[0] == ' ' || line[0] == '#') continue;  // without words it opens the window
    ++lines;
    const TemporaryFolder folder;
    const Ran ran = trainyard(line, folder);
    EXPECT_TRUE(ran.exit == kDone || ran.exit == kNotMet) << line << "\n" << ran.err;
  }
  EXPECT_GE(lines, 2);
}

TEST(Program, HelpListsVerbsAndTopicsAndShowsEach) {
  const TemporaryFolder folder;
  const std::string all = trainyard("help", folder).out;
  EXPECT_EQ(trainyard("--help", folder).out, all);
  for (const Verb& verb : verbs()) {
    const std::string name(verb.name);
    EXPECT_NE(all.find("\n  " + name + " "), std::string::npos) << name;
    EXPECT_EQ(find_topic(name), nullptr) << name << " is a verb, so no topic may be called so";
  }
  EXPECT_EQ(trainyard("help plan", folder).out, trainyard("plan --help", folder).out);
  EXPECT_EQ(trainyard("--help plan", folder).out, trainyard("plan --help", folder).out);
  for (const Topic& topic : topics()) {
    EXPECT_NE(all.find("\n  " + topic.name + " "), std::string::npos) << topic.name;
    EXPECT_NE(all.find(topic.question), std::string::npos) << topic.name;
  }
  const Topic& search = *find_topic("search");
  EXPECT_EQ(trainyard("help search", folder).out, search.question + "\n\n" + search.text);
  EXPECT_NE(trainyard("help plan", folder).out.find("trainyard help search"), std::string::npos);
}

TEST(Program, ARecipeIsOneLineWithoutTheProgramsName) {
  const Topic topic{
      "fit", "Will it fit?",
      "Prose.\n\n    trainyard plan --top 1 \\\n        --json\n    trainyard knobs\n"};
  EXPECT_EQ(recipes(topic), (std::vector<std::string>{"plan --top 1 --json", "knobs"}));
  EXPECT_TRUE(uses(topic, "knobs"));
  EXPECT_FALSE(uses(topic, "knob"));
}

TEST(Program, RunsAreRecordedUnlessAskedNotTo) {
  const TemporaryFolder folder;
  const std::string run =
      "run --model mlp-small --devices 2 --set pp=2 --set global-batch=8 --set "
      "precision=fp32 --steps 2 --data random";
  EXPECT_EQ(trainyard("runs", folder).out, "no runs\n");
  EXPECT_EQ(trainyard(run + " --no-record", folder).exit, kDone);
  EXPECT_EQ(trainyard("runs", folder).out, "no runs\n");
  const Ran ran = trainyard(run + " --json", folder);
  EXPECT_NE(ran.err.find("recorded as run 1\n"), std::string::npos) << ran.err;
  EXPECT_EQ(trainyard("runs show 1 --json", folder).out, ran.out);
  EXPECT_EQ(trainyard("runs note 1 \"first try\"", folder).exit, kDone);
  EXPECT_EQ(trainyard("runs tag 1 good", folder).exit, kDone);
  const Json list = parse_json(trainyard("runs search tag:good FIRST --json", folder).out, "runs");
  conforms(list, parse_json(json_schema("runs"), "schema"), "runs");
  ASSERT_EQ(list.find("runs")->as_list()->size(), 1U);
  EXPECT_NE(trainyard("runs show 1", folder).out.find("note         first try"), std::string::npos);
  EXPECT_EQ(trainyard("runs remove 1", folder).exit, kDone);
  EXPECT_EQ(trainyard("runs", folder).out, "no runs\n");
}

const std::string kTraining =
    "run --model mlp-small --devices 2 --set pp=2 --set global-batch=8 --set precision=fp32 --set "
    "optimizer=momentum --data random --no-record --quiet";
const std::string kTrained = kTraining + " --steps 2";

// The line with one word in another's place, because no setting may be given twice.
std::string changed(std::string line, const std::string& word, const std::string& other) {
  return line.replace(line.find(word), word.size(), other);
}

TEST(Program, ARunIsCheckedAgainstASecondBackend) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(kTrained + " --check reference --json", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "run");
  conforms(json, parse_json(json_schema("run"), "schema"), "run");
  const Json* check = json.find("check");
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(*check->find("agrees"), Json(true));
  EXPECT_EQ(check->find("loss")->as_list()->size(), 2U);
  // A rate at which nothing converges tells the two roundings apart.
  const Ran wild = trainyard(kTraining + " --check reference --train rate=100 --steps 12", folder);
  EXPECT_EQ(wild.exit, kNotMet);
  EXPECT_EQ(wild.err.rfind("cpu and reference differ: loss of step ", 0), 0U) << wild.err;
  const Ran refused = trainyard(kTraining + " --check reference --train weight-decay=0.1", folder);
  EXPECT_EQ(refused.exit, kWrongInput);
  EXPECT_NE(refused.err.find("found weight-decay=0.1; try --train weight-decay=0"),
            std::string::npos)
      << refused.err;
  const Ran twice = trainyard(kTrained + " --check cpu", folder);
  EXPECT_EQ(twice.exit, kWrongInput);
  EXPECT_EQ(twice.err,
            "--check: expected another backend than the one that trains, found \"cpu\" twice\n");
}

TEST(Program, AModelThatActsIsEvaluatedByItsReturn) {
  const TemporaryFolder folder;
  const std::string line =
      "run --model cartpole-q --devices 1 --steps 1 --set precision=fp32 --set optimizer=sgd --set "
      "global-batch=8 --evaluate --no-record --quiet";
  const Json json = parse_json(trainyard(line + " --json", folder).out, "run");
  conforms(json, parse_json(json_schema("run"), "schema"), "run");
  const Json* evaluation = json.find("evaluation");
  ASSERT_NE(evaluation, nullptr);
  EXPECT_NE(evaluation->find("mean_return"), nullptr);
  EXPECT_EQ(*evaluation->find("samples"), Json(20));
  EXPECT_EQ(evaluation->find("accuracy"), nullptr);
  const std::string text = trainyard(line, folder).out;
  EXPECT_NE(text.find(" over 20 episodes without exploration"), std::string::npos) << text;
}

TEST(Program, TheReferenceTrainsTheSameLosses) {
  const TemporaryFolder folder;
  const Json fast = parse_json(trainyard(kTrained + " --json", folder).out, "run"),
             exact =
                 parse_json(trainyard(kTrained + " --backend reference --json", folder).out, "run");
  conforms(exact, parse_json(json_schema("run"), "schema"), "run");
  EXPECT_EQ(exact.find("step_seconds"), nullptr);  // it measures no time
  for (std::size_t i = 0; i < 2; ++i) {
    const JsonCursor a(fast, "run"), b(exact, "run");
    EXPECT_NEAR(a.at("loss").items().at(i).number(), b.at("loss").items().at(i).number(), 1e-5);
  }
}

TEST(Program, AMeasuredTimelineIsReplayed) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(kTrained + " --timeline t.json --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Ran again = trainyard(kTrained + " --replay t.json --json", folder);
  EXPECT_EQ(again.exit, kDone) << again.err;
  const Json measured = parse_json(ran.out, "run"), replayed = parse_json(again.out, "run");
  conforms(replayed, parse_json(json_schema("run"), "schema"), "run");
  EXPECT_EQ(*replayed.find("residual"), *measured.find("residual"));
  EXPECT_EQ(*replayed.find("breakdown_seconds"), *measured.find("breakdown_seconds"));
  EXPECT_EQ(*replayed.find("backend"), Json("replay"));
  const Ran other = trainyard(
      changed(kTrained, "global-batch=8", "global-batch=16") + " --replay t.json", folder);
  EXPECT_EQ(other.exit, kWrongInput);
  EXPECT_EQ(other.err.rfind("t.json#/program: expected a timeline of program ", 0), 0U)
      << other.err;
}

TEST(Program, APrintedProgramIsEditedAndSimulated) {
  const TemporaryFolder folder;
  const std::string simulate =
      "simulate --model gpt-tiny --cluster cpu:2 --set pp=2 --set "
      "global-batch=8 --quiet --json";
  const Json plan = parse_json(trainyard(simulate + " --program-out p.txt", folder).out, "result");
  const Json text = parse_json(trainyard(simulate + " --program p.txt", folder).out, "result");
  EXPECT_EQ(*text.find("step_seconds"), *plan.find("step_seconds"));
  EXPECT_EQ(*text.find("memory"), *plan.find("memory"));
  const std::string path = (folder.path() / "p.txt").string();
  std::string edited = file_text(path);
  edited.replace(edited.find("do task=0"), 9, "do task=999");
  write_file(path, edited);
  const Ran wrong = trainyard(simulate + " --program p.txt", folder);
  EXPECT_EQ(wrong.exit, kWrongInput);
  EXPECT_NE(wrong.err.find(": task 999 lies outside the "), std::string::npos) << wrong.err;
  EXPECT_EQ(wrong.err.rfind("p.txt:", 0), 0U) << wrong.err;
  const Ran other = trainyard(
      "simulate --model gpt-tiny --cluster cpu:2 --set pp=2 --set global-batch=4 --program p.txt",
      folder);
  EXPECT_EQ(other.exit, kWrongInput);
}

TEST(Program, TheReadmeOfMethodsHoldsTheirTable) {
  const TemporaryFolder folder;
  const Ran ran = trainyard("methods --markdown", folder);
  const std::string readme = file_text(TRAINYARD_SOURCE_DIR "/core/methods/README.md");
  const std::string open = "<!-- methods -->\n";
  const std::size_t from = readme.find(open) + open.size();
  EXPECT_EQ(readme.substr(from, readme.find("<!-- /methods -->") - from), ran.out);
}

TEST(Program, ExitCodesMeanWhatTheHelpSays) {
  const TemporaryFolder folder;
  EXPECT_EQ(trainyard("estimate" + kFits, folder).exit, kDone);
  EXPECT_EQ(trainyard("simulate" + kTooLarge, folder).exit, kNotMet);
  EXPECT_EQ(trainyard("estimate" + kFits + " --out /proc/none/there", folder).exit, kFailed);
  EXPECT_EQ(trainyard("estimate --model resnet-20 --cluster cpu:2 --strict", folder).exit,
            kOutside);
  EXPECT_EQ(trainyard("", folder).exit, kWrongInput);
  EXPECT_EQ(trainyard("simulate --help", folder).exit, kDone);
}

TEST(Program, JsonIsOneDocumentThatEndsWithTheLine) {
  const TemporaryFolder folder;
  for (const std::string verb : {"simulate", "estimate"}) {
    const Ran ran = trainyard(verb + kFits + " --json", folder);
    const Json result = parse_json(ran.out, verb);
    EXPECT_EQ(*result.find("schema")->text(), "trainyard/result@1");
    EXPECT_EQ(write_json(result), ran.out);
  }
}

TEST(Program, DocumentsConformToTheirSchemas) {
  const TemporaryFolder folder;
  for (const std::string& words : {kFits, kTooLarge}) {
    const Json result = parse_json(trainyard("simulate" + words + " --json", folder).out, "result");
    conforms(result, parse_json(json_schema("result"), "schema"), "result");
  }
  for (const std::string name : {"1f1b", "zb-v", "dualpipe"}) {
    const Json order = parse_json(trainyard("schedule " + name + " --json", folder).out, "order");
    conforms(order, parse_json(json_schema("order"), "schema"), "order");
  }
  const std::string solve = "solve --placement v --microbatches 4 --transfer 0.1ms --json";
  const Json solved = parse_json(trainyard(solve + " --memory-limit 3", folder).out, "solved");
  conforms(solved, parse_json(json_schema("order"), "schema"), "solved");
  const Json trade = parse_json(trainyard(solve + " --sweep 3", folder).out, "trade");
  conforms(trade, parse_json(json_schema("trade"), "schema"), "trade");
  const std::string csv = TRAINYARD_SOURCE_DIR "/tests/memory/minimalloc/B.1048576.csv";
  const Ran arena = trainyard("doctor arena " + csv + " --capacity 1048576 --json", folder);
  conforms(parse_json(arena.out, "arena"), parse_json(json_schema("arena"), "schema"), "arena");
  const Json knobs = parse_json(trainyard("knobs" + kFits + " --json", folder).out, "knobs");
  conforms(knobs, parse_json(json_schema("knobs"), "schema"), "knobs");
  const Json scaling = parse_json(trainyard("scaling" + kFits + " --json", folder).out, "scaling");
  conforms(scaling, parse_json(json_schema("scaling"), "schema"), "scaling");
  const std::string varied = "sweep" + kFits + " --vary micro-batch=1,3 --as-given --json";
  conforms(parse_json(trainyard(varied, folder).out, "sweep"),
           parse_json(json_schema("sweep"), "schema"), "sweep");
  const Ran waves = trainyard(
      "waves --model resnet-20 --cluster h100-sxm:1 --set schedule=tick-tock --set global-batch=64 "
      "--set micro-batch=16 --json",
      folder);
  conforms(parse_json(waves.out, "waves"), parse_json(json_schema("waves"), "schema"), "waves");
  conforms(parse_json(trainyard("stragglers --replicas 3 --json", folder).out, "stragglers"),
           parse_json(json_schema("stragglers"), "schema"), "stragglers");
  conforms(
      parse_json(trainyard("hogwild --samples 100 --threads 2 --features 50 --dense 4 --epochs 1 "
                           "--rounds 1 --json",
                           folder)
                     .out,
                 "hogwild"),
      parse_json(json_schema("hogwild"), "schema"), "hogwild");
  conforms(parse_json(trainyard("halp --bits 2,8 --rounds 3 --json", folder).out, "halp"),
           parse_json(json_schema("halp"), "schema"), "halp");
  const Ran tables = trainyard(
      "tables --model dlrm-tiny --cluster cpu:1 --set global-batch=64 --smaller 2 --json", folder);
  conforms(parse_json(tables.out, "tables"), parse_json(json_schema("tables"), "schema"), "tables");
  const std::string sharded = "knobs" + changed(kFits, "tp=8", "tp=1") + " --set zero=3 --json";
  for (const auto& [flags, name] : {std::pair{" --largest seq", "boundary"},
                                    {" --against tp=2", "flip"},
                                    {" --owners", "owners"},
                                    {" --knob wrap", "wrapping"},
                                    {" --knob reshard-mesh", "resharding"},
                                    {" --knob recompute-method", "recomputation"},
                                    {" --questions", "questions"}})
    conforms(parse_json(trainyard(sharded + flags, folder).out, name),
             parse_json(json_schema(name), "schema"), name);
  const Ran tuned = trainyard(
      "tune" + kFits + " --vary tp=1,2,4 --vary micro-batch=1,3 --trials 5 --quiet --json", folder);
  const Json tune = parse_json(tuned.out, "tune");
  conforms(tune, parse_json(json_schema("tune"), "schema"), "tune");
  EXPECT_NE(tune.find("best"), nullptr);
  const Ran fused = trainyard(
      "tune --model mlp-small --cluster cpu:1 --set global-batch=8 --set micro-batch=8 --set "
      "precision=fp32 --measure --data random --objective loss --steps 2 --trials 4 "
      "--vary train.rate=1e-3,1e-2,0.1,1 --fuse 4 --quiet --json",
      folder);
  const Json together = parse_json(fused.out, "tune");
  conforms(together, parse_json(json_schema("tune"), "schema"), "tune");
  ASSERT_NE(together.find("fusion"), nullptr);
  EXPECT_EQ(*together.find("fusion")->find("trials")->integer(), 4);
  const std::string words =
      " --model mlp-small --devices 2 --set global-batch=8 --set "
      "precision=fp32 --json";
  const Json run = parse_json(
      trainyard("run" + words + " --set pp=2 --steps 3 --data random --evaluate", folder).out,
      "run");
  conforms(run, parse_json(json_schema("run"), "schema"), "run");
  const Json machine =
      parse_json(trainyard("calibrate" + words + " --seconds 0.1", folder).out, "machine");
  conforms(machine, parse_json(json_schema("calibration"), "schema"), "machine");
  for (const auto& [probe, name] :
       {std::pair{std::string("probe --vary n=14..18 --set m=8 --set k=8 --rounds 9"), "probe"},
        {"probe --batch --vary m=1..16:x2 --set n=32 --set k=32 --rounds 9", "batch"},
        {"probe --batch" + kFits, "batch"},
        {"branches --model inception-tiny --set precision=fp32 --rounds 1 --cores 1", "branches"},
        {"branches --model neox-tiny --cluster cpu-small:1 --cost roofline", "branches"}})
    conforms(parse_json(trainyard(probe + " --json", folder).out, name),
             parse_json(json_schema(name), "schema"), name);
}

TEST(Program, ARunThatDoesNotFitIsNotStarted) {
  const TemporaryFolder folder;
  const Ran ran =
      trainyard("run --model mlp-small --memory-limit 1MiB --steps 2 --data random", folder);
  EXPECT_EQ(ran.exit, kNotMet);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err.rfind("not started: Does not fit", 0), 0u) << ran.err;
}

// The parts of a waterfall sum to the whole difference.
TEST(Program, AComparisonSumsUp) {
  const TemporaryFolder folder;
  const Json compared =
      parse_json(trainyard("compare \"pp=2\" \"dp=2\" --model gpt-tiny --cluster cpu:2 --set "
                           "global-batch=8 --json",
                           folder)
                     .out,
                 "compared");
  conforms(compared, parse_json(json_schema("comparison"), "schema"), "compared");
  for (const char* kind : {"seconds", "bytes"}) {
    const Json& fall = *compared.find(kind);
    double sum = 0;
    for (const Json& part : *fall.find("parts")->as_list()) sum += number(*part.find("difference"));
    EXPECT_NEAR(sum, number(*fall.find("b")) - number(*fall.find("a")), 1e-9);
  }
  // Two plans are also told apart by field; data parallelism follows from the pipeline.
  const auto& fields = *compared.find("fields")->as_list();
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(*fields[0].find("field")->text(), "pp");
}

TEST(Program, APublishedPlanIsComparedFieldByField) {
  const TemporaryFolder folder;
  const std::string words =
      "compare \"recompute=none\" published:korth-t5-22B-full --model published:korth-t5-22B-full "
      "--cluster "
      "published:korth-t5-22B-full --plan published:korth-t5-22B-full";
  const Ran ran = trainyard(words, folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  const std::size_t at = ran.out.find("\nfield by field");
  ASSERT_NE(at, std::string::npos) << ran.out;
  const std::string parts = ran.out.substr(at);
  EXPECT_NE(parts.find("recompute "), std::string::npos) << parts;
  EXPECT_EQ(parts.find("micro-batch"), std::string::npos) << "the same in both: " << parts;
}

TEST(Program, AValidationIsDrawn) {
  const TemporaryFolder folder;
  const Ran ran = trainyard("validate --source korthikanti --svg a.svg --png a.png", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  const std::string svg = file_text(folder.path() / "a.svg");
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("korthikanti"), std::string::npos);
  EXPECT_EQ(file_text(folder.path() / "a.png").substr(1, 3), "PNG");
}

TEST(Program, ASolvedOrderIsReadAsAnEditedOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(trainyard("solve --memory-limit 4 --json --out order.json", folder).exit, kDone);
  const Ran checked = trainyard("schedule zb-h1 --check order.json", folder);
  EXPECT_EQ(checked.exit, kDone) << checked.err;
  EXPECT_EQ(checked.out.rfind("the order holds\n", 0), 0u) << checked.out;
}

TEST(Program, ResultSumsUp) {
  const TemporaryFolder folder;
  const Json result =
      parse_json(trainyard("simulate" + kTooLarge + " --json", folder).out, "result");
  double sum = 0;
  for (const JsonMember& part : *result.find("breakdown_seconds")->as_object())
    sum += part.value.real() ? *part.value.real() : static_cast<double>(*part.value.integer());
  EXPECT_NEAR(sum, *result.find("step_seconds")->find("value")->real(), 1e-9);
  for (const Json& stage : testing::non_empty(*result.find("memory")->find("stages")->as_list())) {
    std::int64_t bytes = 0;
    for (const JsonMember& category : *stage.find("categories")->as_object())
      bytes += *category.value.integer();
    EXPECT_EQ(bytes, *stage.find("peak_bytes")->integer());
  }
}

TEST(Program, AFixDoesWhatItSays) {
  const TemporaryFolder folder;
  const std::string words =
      " --model llama-3-8b --cluster h100-sxm:8 --set pp=2 --set global-batch=64 --set seq=8192";
  const Json before = parse_json(trainyard("simulate" + words + " --json", folder).out, "before");
  const Json& fixes = *before.find("verdict")->find("fixes");
  ASSERT_FALSE(fixes.as_list()->empty());
  const Json& fix = fixes.as_list()->front();
  const Ran ran =
      trainyard("simulate" + words + " --json --set \"" + *fix.find("set")->text() + "\"", folder);
  const Json after = parse_json(ran.out, "after");
  EXPECT_EQ(*after.find("verdict")->find("fits")->boolean(), *fix.find("fits")->boolean());
  EXPECT_EQ(*after.find("step_seconds")->find("value")->real(), *fix.find("step_seconds")->real());
}

TEST(Program, BenchPrintsTheSameSignatureTwice) {
  const TemporaryFolder folder;
  const std::string first = trainyard("bench", folder).out;
  EXPECT_EQ(trainyard("bench", folder).out, first);
  EXPECT_EQ(first, file_text(TRAINYARD_SOURCE_DIR "/tests/signature.txt"));
}

TEST(Program, ScheduleKnowsTheFormulaOf1F1B) {
  const TemporaryFolder folder;
  const Json order = parse_json(
      trainyard("schedule 1f1b --stages 4 --microbatches 8 --json", folder).out, "order");
  EXPECT_EQ(*order.find("makespan")->real(), 0.033);  // (m + p - 1)(F + B + W)
  EXPECT_EQ(*order.find("ideal")->real(), 0.024);
  EXPECT_NEAR(*order.find("bubble_fraction")->real(), 3.0 / 11.0, 1e-12);
  EXPECT_EQ(write_json_line(*order.find("live_microbatches")), "[4,3,2,1]");
}

TEST(Program, ArenasArePlacedOrSaidNotToFit) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "five.csv")
      << "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";
  const Ran fits = trainyard(
      "doctor arena five.csv --capacity 12 --out placed.csv --svg a.svg --png a.png", folder);
  EXPECT_EQ(fits.exit, kDone) << fits.err;
  EXPECT_NE(fits.out.find("verdict      fits: 0 B left\n"), std::string::npos) << fits.out;
  EXPECT_NE(fits.out.find("gap          0.00 %; proven"), std::string::npos) << fits.out;
  const std::string placed = file_text(folder.path() / "placed.csv");
  EXPECT_TRUE(placed.starts_with("id,lower,upper,size,offset\nb1,0,3,4,")) << placed;
  EXPECT_TRUE(file_text(folder.path() / "a.svg").starts_with("<svg"));
  EXPECT_TRUE(file_text(folder.path() / "a.png").substr(1).starts_with("PNG"));
  const Ran again = trainyard("doctor arena placed.csv --json --quiet", folder);
  EXPECT_EQ(again.exit, kDone) << again.err;

  const Ran too_small = trainyard("doctor arena five.csv --capacity 11", folder);
  EXPECT_EQ(too_small.exit, kNotMet);
  EXPECT_NE(too_small.out.find("does not fit: 1 B too much; no placement does"), std::string::npos)
      << too_small.out;
  const Ran aligned = trainyard("doctor arena five.csv --alignment 64", folder);
  EXPECT_NE(aligned.out.find("reach        192 B"), std::string::npos) << aligned.out;

  for (const auto& [line, words] :
       {std::pair{"doctor arna five.csv", "did you mean \"arena\"?"},
        {"doctor arena", "expected a file of buffers"},
        {"doctor arena fife.csv", "five.csv"},
        {"doctor --capacity 3", "expected this only after doctor arena FILE"},
        {"doctor arena five.csv --capacity 12MiB", "--capacity"}}) {
    const Ran refused = trainyard(line, folder);
    EXPECT_EQ(refused.exit, kWrongInput) << line;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace trainyard
