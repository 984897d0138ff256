import { z } from 'zod'
import { bool, oneOf, text } from './forms.ts'

const collectorUrl = z
  .url({ protocol: /^https?$/, error: 'write an http(s) address, such as http://localhost:4318' })
  .refine((url) => !URL.canParse(url) || new URL(url).username === '', 'write keys into OTEL_EXPORTER_OTLP_HEADERS, not into the address')

/** The variables of OpenTelemetry that decide whether and how there are traces. Its SDK reads further ones itself. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: collectorUrl,
    about:
      'Address of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://localhost:4318`; without it there are no traces.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    schema: collectorUrl,
    shownDefault: 'OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces',
    about: 'Address that takes the traces, as it is.',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    schema: oneOf('http/protobuf', 'http/json'),
    shownDefault: '`http/protobuf`',
    about: 'How traces are written: `http/protobuf` or `http/json`.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: text,
    secret: true,
    about: 'Headers to send with traces, as a key for the service: `name=value`, separated by commas.',
  },
  OTEL_TRACES_SAMPLER: {
    schema: oneOf('always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'),
    shownDefault: '`parentbased_always_on`',
    about: 'Which requests and jobs are traced; `parentbased_` ones do as the header `traceparent` says where there is one.',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z.coerce.number('write a number').min(0, 'at least 0').max(1, 'at most 1'),
    shownDefault: '`1`',
    about: 'The share of them that the `traceidratio` samplers trace, from 0 to 1.',
  },
  OTEL_TRACES_EXPORTER: { schema: oneOf('otlp', 'none'), shownDefault: '`otlp`', about: '`none` switches traces off.' },
  OTEL_SDK_DISABLED: { schema: bool, shownDefault: '`false`', about: '`true` does so, too.' },
} as const
