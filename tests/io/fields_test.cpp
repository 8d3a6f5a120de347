#include "core/io/json/fields.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>

#include "core/base/ids.h"
#include "tests/support/in_all_three.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

struct Wagon {
  std::string name;
  Bytes load{};
  friend bool operator==(const Wagon&, const Wagon&) = default;
};

struct Train {
  std::string name, owner = "nobody";
  bool express = false;
  int axles = 1;
  double filled = 0;
  std::optional<std::int64_t> platform;
  DeviceId engine;
  Flops work{};
  std::vector<int> stops;
  std::vector<Wagon> wagons;
  Wagon last;
  double low = 0, high = 0;
  friend bool operator==(const Train&, const Train&) = default;
};

Fields<Wagon> wagon_fields() { return {{"name", &Wagon::name}, {"load_bytes", &Wagon::load}}; }

const Fields<Train>& train_fields() {
  static const Fields<Train> kFields = {
      {"name", &Train::name, "as painted"},
      {"owner", &Train::owner, kDefaulted},
      {"express", &Train::express, kWhereSet},
      {"axles", &Train::axles, whole(1, 99)},
      {"filled", &Train::filled, number(kShare)},
      {"platform", &Train::platform, signed_whole()},
      {"engine", &Train::engine, kWhereSet},
      {"work", &Train::work, number(kAmount)},
      {"stops", &Train::stops, kWhereSet},
      {"wagons", &Train::wagons, list_of(object(wagon_fields()), 3, "wagons")},
      {"last", in(&Train::last, &Wagon::name), one_of({"", "brake", "mail"})},
      {"range", Fields<Train>{{"low", &Train::low}, {"high", &Train::high}}}};
  return kFields;
}

Train full_train() {
  Train train;
  train.name = "night mail", train.owner = "post", train.express = true, train.axles = 8;
  train.filled = 0.5, train.platform = -3, train.engine = DeviceId{7}, train.work = {1e12};
  train.stops = {2, 5}, train.wagons = {{"a", 3_B}, {"b", 4_B}}, train.last.name = "mail";
  train.low = -1, train.high = 2;
  return train;
}

Train read_train(const Json& json) { return train_fields().read(JsonCursor(json, "t.json")); }

TEST(Fields, EachIsInTheSchemaTheDocumentAndWhatIsRead) {
  testing::is_in_all_three(train_fields(), full_train());
}

TEST(Fields, AnyValueReadsBackAndConforms) {
  EXPECT_TRUE(rc::check("what was written is read", [] {
    Train train;
    train.name = *rc::gen::element<std::string>("", "a", "quote \" and \\ and \u00e9");
    train.owner = *rc::gen::element<std::string>("", "nobody", "post");
    train.express = *rc::gen::arbitrary<bool>();
    train.axles = *rc::gen::inRange(1, 100);
    train.filled = *rc::gen::inRange(0, 1001) / 1000.0;
    if (*rc::gen::arbitrary<bool>()) train.platform = *rc::gen::arbitrary<std::int64_t>();
    if (*rc::gen::arbitrary<bool>()) train.engine = DeviceId{*rc::gen::inRange(0U, 9U)};
    train.work = {*rc::gen::inRange(0, 1'000'000) * 1e6};
    train.stops = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9));
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
      train.wagons.push_back({"w", Bytes{*rc::gen::inRange<std::int64_t>(0, 1 << 30)}});
    train.last.name = *rc::gen::element<std::string>("", "brake", "mail");
    train.low = *rc::gen::inRange(-9, 9) / 8.0, train.high = *rc::gen::inRange(-9, 9) * 1e9;
    const Json json = train_fields().write(train);
    RC_ASSERT(read_train(parse_json(write_json(json), "t.json")) == train);
    conforms(json, train_fields().schema(), "train");
  }));
}

TEST(Fields, WhatIsNotSetIsAbsent) {
  const Json json = train_fields().write({});
  for (const char* key : {"express", "platform", "engine", "stops"})
    EXPECT_EQ(json.find(key), nullptr) << key;
  for (const char* key : {"name", "owner", "wagons", "range"})
    EXPECT_NE(json.find(key), nullptr) << key;
}

TEST(Fields, WhatMayBeAbsentKeepsItsDefault) {
  Json json = train_fields().write(full_train());
  Json::Object& members = *json.as_object();
  std::erase_if(members, [](const JsonMember& m) { return m.key == "owner"; });
  EXPECT_EQ(read_train(json).owner, "nobody");
}

TEST(Fields, RefusalsNameThePlace) {
  const auto refused = [](const char* key, Json value) {
    const Json json = train_fields().write(full_train()).set(key, std::move(value));
    return testing::refusal([&] { read_train(json); });
  };
  EXPECT_EQ(refused("axels", 2), "t.json#/axels: unknown key \"axels\"; did you mean \"axles\"?");
  EXPECT_EQ(refused("axles", 100),
            "t.json#/axles: expected a whole number from 1 to 99, found 100");
  EXPECT_EQ(refused("filled", 1.5), "t.json#/filled: expected a share from 0 to 1, found 1.5");
  EXPECT_EQ(refused("wagons", Json(Json::List(4, wagon_fields().write({})))),
            "t.json#/wagons: expected at most 3 wagons, found a list of 4");
  EXPECT_NE(refused("last", "male").find("did you mean \"mail\"?"), std::string::npos);
  EXPECT_EQ(refused("range", Json::object().set("low", 1)),
            "t.json#/range: expected the key \"high\", which is missing");
}

// With a list to collect them, all faults are found, and what is right is read nevertheless.
TEST(Fields, EveryFaultIsFound) {
  Json json = train_fields().write(full_train()).set("axles", 0).set("filled", -1);
  json.set("range", Json::object().set("low", "x").set("high", 3)).set("colour", "red");
  Train train;
  Diagnostics found;
  train_fields().read(JsonCursor(json, "t.json"), train, &found);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].place.text, "t.json#/colour");
  EXPECT_EQ(found[1].place.text, "t.json#/axles");
  EXPECT_EQ(found[2].place.text, "t.json#/filled");
  EXPECT_EQ(found[3].place.text, "t.json#/range/low");
  EXPECT_EQ(train.name, "night mail");
  EXPECT_EQ(train.high, 3);
}

// A part's fields are those of the whole, as a ranked result is a result with a rank.
TEST(Fields, APartMayBeWrittenAsTheWhole) {
  Fields<Train> fields = {{"axles", &Train::axles}};
  fields.add(wagon_fields(), [](const Train& train) -> const Wagon& { return train.last; });
  fields.add(
      {"missing", [](const Train&) -> const Wagon* { return nullptr; }, object(wagon_fields())});
  Json expected = Json::object().set("axles", 8).set("name", "mail").set("load_bytes", 0);
  EXPECT_EQ(write_json(fields.write(full_train())), write_json(expected));
  EXPECT_EQ(fields.keys(), (std::vector<std::string>{"axles", "name", "load_bytes", "missing"}));
}

TEST(Fields, ADocumentIsOfItsKind) {
  const Fields<Wagon> fields = document_fields("trainyard/plan", wagon_fields());
  const Json json = fields.write({"a", 3_B});
  EXPECT_EQ(*json.find("schema"), Json("trainyard/plan@1"));
  EXPECT_EQ(read_fields(fields, write_json(json), "trainyard/plan", "w.json"), (Wagon{"a", 3_B}));
  const Json schema = document_schema(fields.schema());
  EXPECT_EQ(*schema.find("title"), Json("trainyard/plan@1"));
  EXPECT_EQ(schema.find("required")->as_list()->front(), Json("schema"));
}

}  // namespace
}  // namespace trainyard
