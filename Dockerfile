# syntax=docker/dockerfile:1
# SPDX-License-Identifier: Apache-2.0
# Builds Penstock in one stage and ships the program alone in the other. Both install what script/packages names.
#   docker build -t penstock . && docker run --rm -p 3128:3128 penstock
FROM debian:12 AS build
WORKDIR /src
COPY script script
RUN script/setup build
COPY . .
RUN script/build release -DPENSTOCK_TESTS=OFF -- --target penstock

FROM debian:12-slim
COPY script/setup /opt/penstock/script/setup
COPY script/packages/run /opt/penstock/script/packages/run
RUN /opt/penstock/script/setup run \
 && rm -rf /opt/penstock /var/lib/apt/lists/* \
 && useradd --system --uid 3128 --no-create-home --shell /usr/sbin/nologin penstock
COPY --from=build /src/build/release/penstock /usr/bin/penstock
COPY config/container.yaml /etc/penstock/penstock.yaml

USER 3128:3128
EXPOSE 3128 9128
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s CMD ["penstock", "healthcheck", "--config", "/etc/penstock/penstock.yaml"]
ENTRYPOINT ["penstock"]
CMD ["run", "--config", "/etc/penstock/penstock.yaml"]
