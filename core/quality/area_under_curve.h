// The area under the receiver operating characteristic curve: how often a model scores a sample of
// the second class, such as a click, higher than one of the first. It is what recommenders are
// judged by, because it asks for the order of the scores alone (Hanley and McNeil, "The Meaning and
// Use of the Area under a Receiver Operating Characteristic (ROC) Curve", Radiology 1982).
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

/// Returns the share of pairs of a sample with label 1 and one with label 0 of which the former has
/// the higher score; equal scores count one half. In [0, 1]; 0.5 where one of the classes has no
/// sample. Both lists have one length.
double area_under_curve(std::span<const float> scores, std::span<const std::int32_t> labels);

}  // namespace trainyard
