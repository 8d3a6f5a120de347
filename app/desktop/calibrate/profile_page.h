// A ProfilePage profiles a training on this machine and shows it as recorded and without what
// recording took: the question at the left, the picture over its rows, and what follows in
// sentences.
#pragma once

#include <functional>
#include <stop_token>

#include "app/desktop/study/study_page.h"
#include "core/timeline/span_profile.h"

class QLabel;
class QPushButton;

namespace trainyard {

class CheckedField;
class Segment;

/// The profile of a plan, or of the learner that comes with the program, opened where it is
/// measured.
struct ProfileWish {
  bool learner = false;
  Request request = {};  // of a plan
  std::int64_t updates = 0;
  int rounds = 0;
  Duration window{};
  std::stop_token stop = {};
  std::function<void(double)> progress = {};
};

using ProfileMeasurement = MeasurementOf<ProfileStudy>;

class ProfilePage : public StudyPage {
  Q_OBJECT

 public:
  explicit ProfilePage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.profile*" act on this page.
  void connect_commands(const Actions&);

  const ProfileMeasurement& measurement() const { return measurement_; }
  void choose_learner(bool);
  /// Profiles; does nothing while it does or a field is wrong.
  void start() override;

  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  QWidget* make_form();
  void show_found();
  void refresh_state();

  Document& document_;
  ProfileMeasurement& measurement_;
  const ProfileStudy* shown_ = nullptr;
  Segment* which_;
  CheckedField *updates_, *rounds_, *window_;
  QPushButton* start_;
  QLabel* state_;
};

}  // namespace trainyard
