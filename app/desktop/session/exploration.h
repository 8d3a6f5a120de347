// How a person finds the way through a run: what was searched for, where one has been, what is
// marked, where the keys of the timeline lead, what is looked at in memory. It changes the Session
// (and marks through the Document); views and bars ask it and listen.
#pragma once

#include <QObject>

#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"
#include "app/desktop/session/view_history.h"
#include "visualizers/time/span_search.h"

namespace trainyard {

class Exploration : public QObject {
  Q_OBJECT

 public:
  Exploration(Document&, Session&, QObject* parent = nullptr);

  // Search.
  /// Empty ends it. What cannot be understood finds nothing and is told by problem().
  void search(const QString& words);
  const QString& words() const { return words_; }
  const QString& problem() const { return problem_; }
  std::size_t hits() const;
  /// The selected span's place among the hits, from 1; 0: it is none.
  std::size_t hit() const;
  void step_hit(int by);

  // Where one is.
  /// "1.25 s" or "30 %" of the run: the cursor goes there and it comes into the middle of what is
  /// shown. Otherwise a sentence that says what was expected.
  QString go_to(const QString& instant);
  /// Tells the history that what is shown has changed; see ViewHistory::visit.
  void record(bool continues);
  void rest() { history_.rest(); }
  void back();
  void forward();

  // Marks: of the range, else of the cursor, else of the selected span's start.
  /// Sets a mark, or takes it away where the same place has one already.
  void toggle_mark(const QString& name = {});
  bool can_mark() const { return place_to_mark().has_value(); }
  /// Makes the mark's place the range or the cursor.
  void go_to_mark(std::size_t mark);
  /// Brings it into sight: a range where to > from, else the cursor at an instant.
  void go_to_place(Instant from, Instant to);

  // Walks. Each selects what it comes to and brings it into sight.
  void walk_name(int by);
  void walk_device(int by);
  void walk_path(int by);
  void next_peak();
  void next_bubble();
  void select_span(InstructionId);

  // Memory.
  void stack_by(StackBy);
  void set_by_phase(bool);
  void set_every_rank(bool);
  void set_critical_path(bool);
  /// What is alive on a device at an instant stays in the table until something else is pinned.
  void pin(DeviceId, Instant);
  /// Nothing is pinned and no tensor's lives are drawn.
  void unpin();
  struct Pinned {
    DeviceId device;
    Instant at{};
  };
  const std::optional<Pinned>& pinned() const { return pinned_; }
  /// Draws the lives of a buffer under its device's lane and brings the one at the pinned instant,
  /// or the first, into sight.
  void show_lives(BufferId);

 Q_SIGNALS:
  void search_changed();
  void search_wanted();  // somebody pressed "/"
  void note_wanted();    // somebody wants to name a mark
  void pin_changed();
  void switches_changed();  // stack, phase, critical path

 private:
  void start_over();
  void refresh_marks();
  void refresh_stack();
  void bring_into_sight(Instant from, Instant to);
  void go(const ViewPlace&);
  ViewPlace here() const;
  InstructionId selected() const;
  std::optional<ProjectMark> place_to_mark() const;

  Document& document_;
  Session& session_;
  ViewHistory history_;
  ExperimentPtr of_;  // what hits and history are of
  QString words_, problem_;
  std::optional<Pinned> pinned_;
};

}  // namespace trainyard
