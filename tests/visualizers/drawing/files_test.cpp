#include <gtest/gtest.h>

#include "core/base/error.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

TEST(Png, RoundTrips) {
  Image image;
  resize(image, 7, 3);
  for (std::size_t i = 0; i < image.rgba.size(); ++i)
    image.rgba[i] = static_cast<std::uint8_t>(i * 37);
  EXPECT_EQ(read_png(to_png(image)), image);
}

TEST(Png, RefusesWhatIsNone) {
  EXPECT_THROW(to_png({}), Error);
  EXPECT_THROW(read_png(""), Error);
  EXPECT_THROW(read_png("GIF89a"), Error);
  Image image;
  resize(image, 30, 30);
  const std::string bytes = to_png(image);
  EXPECT_THROW(read_png(bytes.substr(0, bytes.size() / 2)), Error);
}

// A header of 2^15 x 2^15 pixels and nothing behind it: refused before 4 GiB are taken for it.
TEST(Png, RefusesPixelsThatItsBytesOnlyClaim) {
  Image image;
  resize(image, 1, 1);
  std::string bytes = to_png(image);
  bytes.replace(16, 8, std::string("\x00\x00\x80\x00\x00\x00\x80\x00", 8));
  bytes.replace(29, 4, "\xc4\x7c\xa3\x7f");  // the header's checksum
  try {
    read_png(bytes);
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "expected a PNG of at most 67108864 pixels, found 32768 x 32768");
  }
}

TEST(Svg, EscapesTextAndKeepsItText) {
  Drawing d({50, 20});
  text(d, {"a<b & \"c\"\x01", {25, 10}, 10, Weight::SemiBold, Face::Mono, Align::Center},
       {.ink = Ink::Text});
  const std::string svg = to_svg(d, Theme::Light);
  EXPECT_NE(svg.find("text-anchor=\"middle\" fill=\"#15181C\">a&lt;b &amp; &quot;c&quot;</text>"),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("y=\"13.6\" font-size=\"10\" font-weight=\"600\""), std::string::npos) << svg;
}

TEST(Svg, AWaveIsOnePathWithEqualNeighboursJoined) {
  Drawing d({100, 100});
  columns(d, {0, 0, 40, 100}, {{50, 100}, {50, 100}, {5, 5}, {20, 30}},
          {.ink = Ink::MemoryWeights});
  EXPECT_NE(
      to_svg(d, Theme::Dark).find("<path d=\"M0 50H20V100H0ZM30 20H40V30H30Z\" fill=\"#545D6B\"/>"),
      std::string::npos);
}

TEST(Svg, APatternIsDefinedOnceForEachOrigin) {
  Drawing d({100, 100});
  hatch(d, {0, 0, 10, 10}, Pattern::Idle);
  hatch(d, {20, 0, 10, 10}, Pattern::Idle);
  d.origin = {3, 0};
  hatch(d, {40, 0, 10, 10}, Pattern::Idle);
  const std::string svg = to_svg(d, Theme::Dark);
  EXPECT_NE(svg.find("translate(0 0) rotate(45)"), std::string::npos);
  EXPECT_NE(svg.find("translate(3 0) rotate(45)"), std::string::npos);
  EXPECT_EQ(svg.find("id=\"p2\""), std::string::npos);
}

TEST(TextMetrics, KnowsInter) {
  EXPECT_FLOAT_EQ(text_width("HH", 10, Weight::Medium), 2 * 7.42f);
  EXPECT_FLOAT_EQ(text_width("11", 10, Weight::Medium), text_width("44", 10, Weight::Medium))
      << "tabular figures";
  EXPECT_FLOAT_EQ(text_width("code", 10, Weight::Regular, Face::Mono), 24);
  EXPECT_FLOAT_EQ(text_width("\u00B1", 10), 6.6f) << "one character of two bytes";
  EXPECT_EQ(text_width("", 10), 0);
  EXPECT_GT(text_width("\xFF\xC3", 10), 0) << "broken UTF-8 has a width too";
}

TEST(TextMetrics, CutsWithAnEllipsis) {
  EXPECT_EQ(fit_text("Stage 3", 100, 11), "Stage 3");
  const std::string cut = fit_text("all-gather + reduce-scatter", 60, 11);
  EXPECT_EQ(cut.substr(cut.size() - 3), "\u2026");
  EXPECT_LE(text_width(cut, 11), 60);
  EXPECT_GT(text_width(cut, 11), 45);
  EXPECT_EQ(fit_text("\u00B5\u00B5\u00B5\u00B5", 20, 11).size() % 2, 1u)
      << "cut between characters";
  EXPECT_EQ(fit_text("Stage", 3, 11), "");
}

}  // namespace
}  // namespace trainyard
