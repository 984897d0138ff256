import { z } from 'zod'
import { bool, oneOf, text } from './forms.ts'

const collectorUrl = z
  .url({ protocol: /^https?$/, error: 'write an http(s) address, such as http://localhost:4318' })
  .refine(
    (url) => !URL.canParse(url) || new URL(url).username === '',
    'write credentials into OTEL_EXPORTER_OTLP_HEADERS, not into the URL',
  )

/** Standard OpenTelemetry settings that control tracing. The OpenTelemetry SDK reads further ones itself. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: collectorUrl,
    about:
      'URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as `http://localhost:4318`. Without it, tracing is disabled.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    schema: collectorUrl,
    shownDefault: 'OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces',
    about: 'Full URL for sending traces.',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    schema: oneOf('http/protobuf', 'http/json'),
    shownDefault: '`http/protobuf`',
    about: 'Encoding of traces: `http/protobuf` or `http/json`.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: text,
    secret: true,
    about: 'Headers sent with traces, such as an API key: `name=value`, separated by commas.',
  },
  OTEL_TRACES_SAMPLER: {
    schema: oneOf('always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'),
    shownDefault: '`parentbased_always_on`',
    about: 'Which requests and jobs are traced. `parentbased_` samplers follow the header `traceparent` if present.',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z.coerce.number('write a number').min(0, 'at least 0').max(1, 'at most 1'),
    shownDefault: '`1`',
    about: 'Fraction of requests and jobs that the `traceidratio` samplers trace, from 0 to 1.',
  },
  OTEL_TRACES_EXPORTER: { schema: oneOf('otlp', 'none'), shownDefault: '`otlp`', about: '`none` disables tracing.' },
  OTEL_SDK_DISABLED: { schema: bool, shownDefault: '`false`', about: '`true` disables tracing.' },
} as const
