#include "base/json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/check.hpp"

namespace weft {
namespace {

TEST(JsonValue, IsWrittenAsGiven) {
  Json value{{"text", "a \"b\"\n"},
             {"flag", true},
             {"none", nullptr},
             {"minus", -3},
             {"large", ~0ull},
             {"half", 0.5f},
             {"list", {1, 2, 3}},
             {"words", std::vector<std::string>{"x"}},
             {"zz", 1},
             {"aa", Json{{"inner", 1.0}}}};
  EXPECT_EQ(
      value.dump(),
      R"({"text":"a \"b\"\n","flag":true,"none":null,"minus":-3,"large":18446744073709551615,"half":0.5,)"
      R"("list":[1,2,3],"words":["x"],"zz":1,"aa":{"inner":1.0}})");
  EXPECT_EQ(Json::array().dump(1), "[]");
  EXPECT_EQ(Json::object().dump(1), "{}");
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ((Json{{"a", 1}}.dump(2)), "{\n  \"a\": 1\n}");
}

// Seeded: values of every kind, nested, must come out as the library writes them.
TEST(JsonValue, IsWrittenAsTheLibraryWritesIt) {
  std::mt19937_64 draw(7);
  const std::string texts[] = {"", "plain", "q\"uote", "back\\slash", "tab\t", "\x01", "caf\u00e9", "\x7f"};
  std::function<nlohmann::ordered_json(unsigned)> value = [&](unsigned depth) -> nlohmann::ordered_json {
    switch (draw() % (depth ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return draw() % 2 == 0;
      case 2:
        return static_cast<std::int64_t>(draw());
      case 3:
        return draw() >> (draw() % 64);
      case 4:
        return std::bit_cast<double>(draw());
      case 5:
        return texts[draw() % std::size(texts)];
      case 6: {
        auto out = nlohmann::ordered_json::array();
        for (std::uint64_t i = draw() % 4; i > 0; --i) out.push_back(value(depth - 1));
        return out;
      }
      default:
        auto out = nlohmann::ordered_json::object();
        for (std::uint64_t i = draw() % 4; i > 0; --i)
          out[texts[draw() % std::size(texts)]] = value(depth - 1);
        return out;
    }
  };
  for (int i = 0; i < 2000; ++i) {
    const nlohmann::ordered_json library = value(4);
    const std::optional<Json> ours = Json::parse(library.dump());
    ASSERT_TRUE(ours);
    const auto again = nlohmann::ordered_json::parse(library.dump());
    for (int indent : {-1, 0, 1, 2}) ASSERT_EQ(ours->dump(indent), again.dump(indent)) << "case " << i;
  }
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ((Json{0.1, 1e300, -0.0, 1e-7, 123456789.0}.dump()), "[0.1,1e+300,-0.0,1e-07,123456789.0]");
}

TEST(JsonValue, ElementsMadeAsTheyAreWrittenAreAnArray) {
  Json made = Json::array_of(3, [](std::size_t i) { return Json{{"i", i}}; });
  Json there = Json::array();
  for (unsigned i = 0; i < 3; ++i) there.push_back(Json{{"i", i}});
  EXPECT_EQ(made.dump(), there.dump());
  EXPECT_EQ(made.dump(2), there.dump(2));
  EXPECT_EQ(made, there);
  EXPECT_EQ(made.size(), 3u);
  EXPECT_EQ(Json::array_of(0, {}).dump(1), "[]");
}

TEST(JsonValue, PairsAreAnObjectAndAnythingElseIsAList) {
  EXPECT_TRUE((Json{{"a", 1}, {"b", 2}}.is_object()));
  EXPECT_FALSE((Json{{"a", 1}, {"b", 2, 3}}.is_object()));
  EXPECT_FALSE((Json{{1, 2}, {3, 4}}.is_object()));
  EXPECT_EQ((Json{{1, 2}, {3, 4}}.dump()), "[[1,2],[3,4]]");
}

TEST(JsonValue, GrowsByKeysAndElements) {
  Json value;
  value["b"] = 1;
  value["a"]["deep"] = "x";
  value["list"].push_back(1);
  value["b"] = 2;
  EXPECT_EQ(value.dump(), R"({"b":2,"a":{"deep":"x"},"list":[1]})");
  value.update({{"a", 7}, {"c", 8}});
  value.erase("b");
  EXPECT_EQ(value.dump(), R"({"a":7,"list":[1],"c":8})");
  EXPECT_EQ(value.size(), 3u);
  EXPECT_TRUE(value.contains("c"));
  EXPECT_FALSE(value.contains("b"));
  EXPECT_THROW(value.push_back(1), Defect) << "an object is no list";
  EXPECT_THROW(value["a"]["deeper"], Defect) << "a number has no keys";
}

TEST(JsonValue, IsReadBackAsItWas) {
  Json value{{"n", 18446744073709551615ull},
             {"m", -5},
             {"x", 1e-9},
             {"s", "\u00e9"},
             {"l", {1, "two", nullptr, false}}};
  std::optional<Json> again = Json::parse(value.dump(1));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, value);
  EXPECT_EQ((*again)["n"].get<std::uint64_t>(), ~0ull);
  EXPECT_EQ((*again)["m"].get<int>(), -5);
  EXPECT_EQ((*again)["x"].get<double>(), 1e-9);
  EXPECT_EQ((*again)["l"][1].get<std::string>(), "two");
  EXPECT_EQ(again->value("s", ""), "\u00e9");
  EXPECT_EQ(again->value("t", "none"), "none");
  EXPECT_FALSE(Json::parse("{\"a\": "));
  EXPECT_FALSE(Json::parse(""));
  EXPECT_THROW((*again)["s"].get<double>(), Defect);
  EXPECT_THROW(std::as_const(*again)["absent"], Defect);
}

TEST(JsonValue, NumbersCompareByValue) {
  EXPECT_LT(Json(1), Json(1.5));
  EXPECT_GE(Json(2u), Json(2));
  EXPECT_EQ(Json(2u), Json(2));
}

TEST(Json, TextInPiecesIsTheSame) {
  Json all{{"name", "a \"b\""}, {"empty", Json::array()}};
  all["rows"] = Json::array_of(5000, [](std::size_t i) {
    return Json{{"i", i}, {"half", 0.5 * static_cast<double>(i)}};
  });
  for (int indent : {-1, 1}) {
    std::string text;
    std::size_t pieces = 0;
    all.dump_to([&](std::string_view piece) { text += piece, ++pieces; }, indent);
    EXPECT_EQ(text, all.dump(indent));
    EXPECT_GT(pieces, 1u);
  }
}

}  // namespace
}  // namespace weft
