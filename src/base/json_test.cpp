#include "base/json.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft
