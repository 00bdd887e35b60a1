// SPDX-License-Identifier: Apache-2.0
// Do the objects open, refuse, bind and close as libfabric says, and does the provider answer hints honestly?
#include "runtime/conformance/harness.hpp"

using namespace exanet::conformance;

namespace {

int ask(std::uint32_t version, const char* node, std::uint64_t flags, const std::function<void(fi_info&)>& wish,
        fi_info** out) {
  fi_info hints{};
  fi_domain_attr domain{};
  fi_tx_attr tx{};
  fi_rx_attr rx{};
  fi_ep_attr ep{};
  fi_fabric_attr fabric{};
  hints.tx_attr = &tx;
  hints.rx_attr = &rx;
  hints.ep_attr = &ep;
  hints.domain_attr = &domain;
  hints.fabric_attr = &fabric;
  wish(hints);
  return fi_prov_ini()->getinfo(version, node, nullptr, flags, &hints, out);
}

// Asks, and hands the answer to `look` before it is freed.
int ask(const std::function<void(fi_info&)>& wish, const std::function<void(const fi_info&)>& look = {}) {
  fi_info* info = nullptr;
  const int rc = ask(FI_VERSION(1, 17), nullptr, 0, wish, &info);
  if (rc) return rc;
  if (look) look(*info);
  Node::free_info(info);
  return 0;
}

}  // namespace

TEST_CASE("without a simulated machine the provider keeps out of the way") {
  unsetenv("EXANET_NI");
  fi_info* info = nullptr;
  CHECK_EQ(fi_prov_ini()->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &info), -FI_ENODATA);
  fi_fabric_attr attr{};
  fid_fabric* fabric = nullptr;
  CHECK_EQ(fi_prov_ini()->fabric(&attr, &fabric, nullptr), -FI_ENODATA);
  CHECK_EQ(std::string(fi_prov_ini()->name), "exanet");
  CHECK(fi_prov_ini()->fi_version >= FI_VERSION(2, 5));
}

TEST_CASE("hints are compared with what is offered") {
  CHECK_EQ(
      run_ranks_once(
          1,
          [](int, int) {
            fi_info* info = nullptr;
            EXPECT_OK(fi_prov_ini()->getinfo(FI_VERSION(2, 5), nullptr, nullptr, 0, nullptr, &info));
            EXPECT_EQ(info->domain_attr->mr_mode, 0);
            EXPECT_EQ(info->mode, 0u);
            EXPECT(info->fabric_attr->prov_name == nullptr);
            EXPECT(info->next == nullptr);
    // Our own answer, given back, is accepted unchanged.
            fi_info* again = nullptr;
            EXPECT_OK(fi_prov_ini()->getinfo(FI_VERSION(2, 5), nullptr, nullptr, 0, info, &again));
            EXPECT_EQ(again->caps, info->caps);
            EXPECT_EQ(again->tx_attr->size, info->tx_attr->size);
            Node::free_info(again);
            Node::free_info(info);
            const auto refused = [](const std::function<void(fi_info&)>& wish) { EXPECT_EQ(ask(wish), -FI_ENODATA); };
            refused([](fi_info& h) { h.caps = FI_COLLECTIVE; });
            refused([](fi_info& h) { h.caps = FI_MSG | FI_HMEM; });
            refused([](fi_info& h) { h.ep_attr->type = FI_EP_MSG; });
            refused([](fi_info& h) { h.ep_attr->tx_ctx_cnt = 2; });
            refused([](fi_info& h) { h.ep_attr->auth_key_size = 1; });
            refused([](fi_info& h) { h.tx_attr->inject_size = 1u << 20; });
            refused([](fi_info& h) { h.tx_attr->iov_limit = 5; });
            refused([](fi_info& h) { h.tx_attr->rma_iov_limit = 2; });
            refused([](fi_info& h) { h.tx_attr->comp_order = FI_ORDER_STRICT; });
            refused([](fi_info& h) { h.rx_attr->msg_order = FI_ORDER_RAW; });
            refused([](fi_info& h) { h.domain_attr->name = const_cast<char*>("eth0"); });
            refused([](fi_info& h) { h.fabric_attr->name = const_cast<char*>("internet"); });
            refused([](fi_info& h) { h.domain_attr->cq_data_size = 9; });
            refused([](fi_info& h) { h.addr_format = FI_SOCKADDR_IN6; });
            const auto choice = [](fi_info& h) {
              h.caps = FI_TAGGED | FI_RMA | FI_SEND | FI_RECV;
              h.domain_attr->threading = FI_THREAD_SAFE;
              h.domain_attr->control_progress = h.domain_attr->data_progress = FI_PROGRESS_AUTO;
              h.domain_attr->av_type = FI_AV_MAP;
              h.domain_attr->mr_mode =
                  FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_LOCAL;
              h.tx_attr->op_flags = FI_DELIVERY_COMPLETE;
              h.tx_attr->msg_order = h.rx_attr->msg_order = FI_ORDER_SAS;
              h.tx_attr->size = 100;
            };
            EXPECT_OK(ask(choice, [](const fi_info& i) {
              EXPECT((i.caps & (FI_TAGGED | FI_RMA | FI_SEND | FI_RECV)) == (FI_TAGGED | FI_RMA | FI_SEND | FI_RECV));
              EXPECT_EQ(i.caps & (FI_MSG | FI_ATOMIC | FI_SOURCE), 0u);
              EXPECT_EQ(i.domain_attr->threading, FI_THREAD_SAFE);
              EXPECT_EQ(i.domain_attr->data_progress, FI_PROGRESS_AUTO);
              EXPECT_EQ(i.domain_attr->av_type, FI_AV_MAP);
              EXPECT_EQ(i.domain_attr->mr_mode, 0);
              EXPECT_EQ(i.tx_attr->op_flags, FI_DELIVERY_COMPLETE);
              EXPECT_EQ(i.tx_attr->size, 100u);
            }));
            const auto old = [](int mode) {
              fi_info* found = nullptr;
              EXPECT_OK(ask(FI_VERSION(1, 4), nullptr, 0, [&](fi_info& h) { h.domain_attr->mr_mode = mode; }, &found));
              const int got = found->domain_attr->mr_mode;
              Node::free_info(found);
              return got;
            };
            EXPECT_EQ(old(FI_MR_UNSPEC), FI_MR_SCALABLE);
            EXPECT_EQ(old(FI_MR_BASIC), FI_MR_BASIC);
          }),
      "");
}

TEST_CASE("names: native, as text, as internet addresses") {
  CHECK_EQ(run_ranks_once(1,
                          [](int, int) {
                            fi_info* info = nullptr;
                            const auto any = [](fi_info&) {};
                            EXPECT_OK(ask(FI_VERSION(1, 17), "exanet://0:3", 0, any, &info));
                            EXPECT_EQ(info->dest_addrlen, sizeof(exanet_addr));
                            EXPECT_EQ(*static_cast<exanet_addr*>(info->dest_addr), exanet_address(0, 3));
                            Node::free_info(info);
                            EXPECT_OK(ask(
                                FI_VERSION(1, 17), "10.0.0.0", FI_SOURCE,
                                [](fi_info& h) { h.addr_format = FI_SOCKADDR_IN; }, &info));
                            EXPECT_EQ(info->src_addrlen, 16u);
                            Node::free_info(info);
                            for (const char* bad : {"exanet://1:0", "exanet://0", "exanet://0:70000", "exanet://0:1x",
                                                    "10.0.0.1", "192.168.0.1", "nowhere", ""})
                              EXPECT_EQ(ask(FI_VERSION(1, 17), bad, 0, any, &info), -FI_ENODATA);
                          }),
           "");
}

TEST_CASE("address vectors: insert, look up, print, remove") {
  for (const fi_av_type type : {FI_AV_MAP, FI_AV_TABLE}) {
    Options options;
    options.av_type = type;
    CHECK_EQ(run_ranks_once(3,
                            [&](int rank, int size) {
                              Node n(rank, size, options);
                              exanet_addr name = 0;
                              std::size_t len = sizeof name;
                              EXPECT_OK(fi_av_lookup(n.av, n.peer(2), &name, &len));
                              EXPECT_EQ(name, exanet_address(2, 0));
                              EXPECT_EQ(len, sizeof name);
                              char text[64] = "";
                              std::size_t length = sizeof text;
                              EXPECT(std::string(fi_av_straddr(n.av, &name, text, &length)) == "exanet://2:0");
                              EXPECT_EQ(length, sizeof "exanet://2:0");
                              length = 4;
                              fi_av_straddr(n.av, &name, text, &length);
                              EXPECT(std::string(text) == "exa");
                              const exanet_addr mixed[3] = {exanet_address(1, 4), exanet_address(9, 0),
                                                            exanet_address(0, 1)};
                              fi_addr_t got[3];
                              int errors[3] = {-1, -1, -1};
                              EXPECT_EQ(fi_av_insert(n.av, mixed, 3, got, FI_SYNC_ERR, errors), 2);
                              EXPECT_EQ(got[1], FI_ADDR_NOTAVAIL);
                              EXPECT_EQ(errors[0], 0);
                              EXPECT_EQ(errors[1], FI_EINVAL);
                              EXPECT_OK(fi_av_remove(n.av, got, 1, 0));
                              EXPECT_EQ(fi_av_lookup(n.av, got[0], &name, &len), -FI_EINVAL);
                              EXPECT_EQ(fi_send(n.ep, nullptr, 0, nullptr, got[0], nullptr), -FI_EINVAL);
                              EXPECT_EQ(fi_av_remove(n.av, got, 1, 0), -FI_EINVAL);
                              fi_addr_t found;
                              EXPECT_EQ(fi_av_insertsvc(n.av, "exanet://0:0", nullptr, &found, 0, nullptr), -FI_ENOSYS);
                              for (int i = 0; i < 1000; ++i)
                                EXPECT_EQ(fi_av_insert(n.av, mixed, 1, &found, 0, nullptr), 1);
                              EXPECT_OK(fi_av_lookup(n.av, n.peer(2), &name, &len));
                              EXPECT_EQ(name, exanet_address(2, 0));
                              n.close();
                            }),
             "");
  }
}

TEST_CASE("endpoints: state, names, options, alias") {
  CHECK_EQ(run_ranks_once(1,
                          [](int rank, int size) {
                            Node n(rank, size);
                            exanet_addr name = 0;
                            std::size_t len = 2;
                            EXPECT_EQ(fi_getname(&n.ep->fid, &name, &len), -FI_ETOOSMALL);
                            EXPECT_EQ(len, sizeof name);
                            EXPECT_OK(fi_getname(&n.ep->fid, &name, &len));
                            EXPECT_EQ(name, exanet_address(0, 0));
                            EXPECT_EQ(fi_ep_bind(n.ep, &n.av->fid, 0), -FI_EOPBADSTATE);
                            std::size_t value = 1;
                            EXPECT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, 99, &value, sizeof value),
                                      -FI_ENOPROTOOPT);
                            fid_ep* fresh = nullptr;
                            EXPECT_OK(fi_endpoint(n.domain, n.info, &fresh, nullptr));
                            EXPECT_EQ(fi_enable(fresh), -FI_ENOAV);
                            EXPECT_OK(fi_ep_bind(fresh, &n.av->fid, 0));
                            EXPECT_EQ(fi_enable(fresh), -FI_ENOCQ);
                            EXPECT_EQ(fi_send(fresh, nullptr, 0, nullptr, n.peer(0), nullptr), -FI_EOPBADSTATE);
                            EXPECT_EQ(fi_recv(fresh, nullptr, 0, nullptr, FI_ADDR_UNSPEC, nullptr), -FI_EOPBADSTATE);
                            EXPECT_OK(fi_close(&fresh->fid));
                            fid_ep* alias = nullptr;
                            EXPECT_OK(fi_ep_alias(n.ep, &alias, FI_TRANSMIT | FI_DELIVERY_COMPLETE));
                            int out = 8, in = 0, context;
                            n.post([&] { return fi_recv(alias, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, &context); });
                            n.post([&] { return fi_send(alias, &out, sizeof out, nullptr, n.peer(0), &out); });
                            n.next();
                            n.next();
                            EXPECT_EQ(in, 8);
                            EXPECT_OK(fi_close(&alias->fid));
                            n.close();
                          }),
           "");
}

TEST_CASE("two endpoints of a rank, with queues of their own, keep their messages apart") {
  run_ranks(1, [](Node& n) {
    fi_cq_attr attr{};
    attr.format = FI_CQ_FORMAT_TAGGED;
    fid_cq* cq = nullptr;
    fid_ep* second = nullptr;
    EXPECT_OK(fi_cq_open(n.domain, &attr, &cq, nullptr));
    EXPECT_OK(fi_endpoint(n.domain, n.info, &second, nullptr));
    EXPECT_OK(fi_ep_bind(second, &n.av->fid, 0));
    EXPECT_OK(fi_ep_bind(second, &cq->fid, FI_TRANSMIT | FI_RECV));
    EXPECT_OK(fi_enable(second));
    exanet_addr name = 0;
    std::size_t len = sizeof name;
    EXPECT_OK(fi_getname(&second->fid, &name, &len));
    fi_addr_t to_second;
    EXPECT_EQ(fi_av_insert(n.av, &name, 1, &to_second, 0, nullptr), 1);
    int a = 1, b = 2, in_first = 0, in_second = 0, c1, c2;
    n.post([&] { return fi_trecv(n.ep, &in_first, sizeof(int), nullptr, FI_ADDR_UNSPEC, 1, 0, &c1); });
    n.post([&] { return fi_trecv(second, &in_second, sizeof(int), nullptr, FI_ADDR_UNSPEC, 1, 0, &c2); });
    n.post([&] { return fi_tinject(n.ep, &a, sizeof a, to_second, 1); });
    n.post([&] { return fi_tinject(second, &b, sizeof b, n.peer(0), 1); });
    fi_addr_t source;
    EXPECT(n.next(&source).op_context == &c1);
    EXPECT_EQ(source, to_second);
    fi_cq_tagged_entry entry{};
    while (fi_cq_readfrom(cq, &entry, 1, &source) != 1) {
    }
    EXPECT(entry.op_context == &c2);
    EXPECT_EQ(source, n.peer(0));
    EXPECT_EQ(in_first, 2);
    EXPECT_EQ(in_second, 1);
    EXPECT_OK(fi_close(&second->fid));
    EXPECT_OK(fi_close(&cq->fid));
  });
}

TEST_CASE("a message from a stranger is an error that names him") {
  CHECK_EQ(
      run_ranks_once(1,
                     [](int rank, int size) {
                       Node n(rank, size);
                       fid_ep* stranger = nullptr;
                       EXPECT_OK(fi_endpoint(n.domain, n.info, &stranger, nullptr));
                       EXPECT_OK(fi_ep_bind(stranger, &n.av->fid, 0));
                       EXPECT_OK(fi_ep_bind(stranger, &n.cq->fid, FI_TRANSMIT));
                       EXPECT_OK(fi_enable(stranger));
                       int value = 6, in = 0, context;
                       n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
                       n.post([&] { return fi_tinject(stranger, &value, sizeof value, n.peer(0), 1); });
                       const auto error = n.next_error();
                       EXPECT_EQ(error.err, FI_EADDRNOTAVAIL);
                       EXPECT_EQ(error.err_data_size, sizeof(exanet_addr));
                       EXPECT_EQ(*static_cast<exanet_addr*>(error.err_data), exanet_address(0, 1));
                       EXPECT_EQ(in, 6);
                       EXPECT_OK(fi_close(&stranger->fid));
                       n.close();
                     }),
      "");
}

TEST_CASE("wait objects of the host's time are refused, event queues and poll sets work") {
  CHECK_EQ(
      run_ranks_once(1,
                     [](int rank, int size) {
                       Node n(rank, size);
                       for (const fi_wait_obj object : {FI_WAIT_FD, FI_WAIT_MUTEX_COND, FI_WAIT_SET, FI_WAIT_POLLFD}) {
                         fi_cq_attr attr{};
                         attr.wait_obj = object;
                         fid_cq* cq = nullptr;
                         EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_ENOSYS);
                         fi_cntr_attr counter{};
                         counter.wait_obj = object;
                         fid_cntr* cntr = nullptr;
                         EXPECT_EQ(fi_cntr_open(n.domain, &counter, &cntr, nullptr), -FI_ENOSYS);
                       }
                       fi_eq_attr eq_attr{};
                       eq_attr.flags = FI_WRITE;
                       fid_eq* eq = nullptr;
                       EXPECT_OK(fi_eq_open(n.fabric, &eq_attr, &eq, nullptr));
                       fi_eq_entry out{}, in{};
                       out.data = 5;
                       std::uint32_t event = 0;
                       EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in, 0), -FI_EAGAIN);
                       EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &out, sizeof out, 0), static_cast<ssize_t>(sizeof out));
                       EXPECT_EQ(fi_eq_read(eq, &event, &in, 1, 0), -FI_ETOOSMALL);
                       EXPECT_EQ(fi_eq_sread(eq, &event, &in, sizeof in, 10, FI_PEEK), static_cast<ssize_t>(sizeof in));
                       EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in, 0), static_cast<ssize_t>(sizeof in));
                       EXPECT_EQ(in.data, 5u);
                       EXPECT_EQ(fi_eq_sread(eq, &event, &in, sizeof in, 1, 0), -FI_EAGAIN);
                       EXPECT_OK(fi_close(&eq->fid));
                       fi_poll_attr poll_attr{};
                       fid_poll* set = nullptr;
                       EXPECT_OK(fi_poll_open(n.domain, &poll_attr, &set));
                       EXPECT_OK(fi_poll_add(set, &n.cq->fid, 0));
                       void* ready[2];
                       EXPECT_EQ(fi_poll(set, ready, 2), 0);
                       int value = 1, context;
                       n.post([&] { return fi_recv(n.ep, &value, sizeof value, nullptr, FI_ADDR_UNSPEC, &context); });
                       n.post([&] { return fi_inject(n.ep, &value, sizeof value, n.peer(0)); });
                       while (fi_poll(set, ready, 2) == 0) {
                       }
                       n.wait(&context);
                       EXPECT_OK(fi_poll_del(set, &n.cq->fid, 0));
                       EXPECT_OK(fi_close(&set->fid));
                       n.close();
                     }),
      "");
}
