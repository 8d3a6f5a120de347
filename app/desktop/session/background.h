// Work on a thread of its own that comes back by value on the window's thread. A newer question
// stops the older one, whose answer is then not heard.
#pragma once

#include <QMetaObject>
#include <QObject>

#include <stop_token>
#include <thread>
#include <utility>

namespace trainyard {

class Background {
 public:
  /// Answers come on the thread of the window, and never after it is gone.
  explicit Background(QObject* window) : window_(window) {}
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// work(std::stop_token, tell) runs there; tell(message) carries what it says on the way, a
  /// callable, here; heard(answer) is called here with what it returns. Must not throw.
  template <class Work, class Heard>
  void ask(Work work, Heard heard) {
    stop();
    running_ = true;
    thread_ = std::jthread([this, ticket = ticket_, work = std::move(work),
                            heard = std::move(heard)](std::stop_token token) mutable {
      const auto tell = [&](auto message) { post(ticket, std::move(message)); };
      auto answer = work(token, tell);
      if (token.stop_requested()) return;
      post(ticket, [this, heard = std::move(heard), answer = std::move(answer)]() mutable {
        running_ = false;
        heard(std::move(answer));
      });
    });
  }

  /// Waits until what runs has noticed.
  void stop() {
    ++ticket_;
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    running_ = false;
  }

  bool running() const { return running_; }

 private:
  template <class Message>
  void post(quint64 ticket, Message message) {
    QMetaObject::invokeMethod(
        window_,
        [this, ticket, message = std::move(message)]() mutable {
          if (ticket == ticket_) message();
        },
        Qt::QueuedConnection);
  }

  QObject* window_;
  bool running_ = false;
  quint64 ticket_ = 0;
  std::jthread thread_;
};

}  // namespace trainyard
