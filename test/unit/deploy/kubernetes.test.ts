import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../../server/platform/config/config.ts'
import { variables } from '../../../server/platform/config/variables.ts'
import { read, secretValue, unknownSettings } from '../../support/deployment.ts'

const { version } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')))
const secretName = 'snug'
const timing = { periodSeconds: z.number(), failureThreshold: z.number(), timeoutSeconds: z.number().optional() }
const probe = (path: string) => z.strictObject({ httpGet: z.strictObject({ path: z.literal(path), port: z.literal('http') }), ...timing })
const secretKey = z.strictObject({ secretKeyRef: z.strictObject({ name: z.literal(secretName), key: z.string() }) })
const setting = z.union([
  z.strictObject({ name: z.string(), value: z.string() }),
  z.strictObject({ name: z.string(), valueFrom: secretKey }),
])

// The schemas are strict, so that misspelled fields fail. The API server would ignore or reject them.
const container = z.strictObject({
  name: z.literal('snug'),
  image: z.literal(`registry.example.com/snug:${version}`),
  env: z.array(setting),
  envFrom: z.array(z.strictObject({ secretRef: z.strictObject({ name: z.literal(secretName) }) })).default([]),
  ports: z.tuple([z.strictObject({ name: z.literal('http'), containerPort: z.literal(Number(variables.LISTEN_PORT.default)) })]),
  startupProbe: probe('/livez'),
  livenessProbe: probe('/livez'),
  readinessProbe: probe('/readyz'),
  resources: z.strictObject({ requests: z.record(z.string(), z.string()), limits: z.record(z.string(), z.string()) }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string() })),
})
const pod = z.strictObject({
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  shareProcessNamespace: z.literal(true),
  terminationGracePeriodSeconds: z.number(),
  topologySpreadConstraints: z.array(z.unknown()).optional(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.literal(1000),
    runAsGroup: z.literal(1000),
    fsGroup: z.literal(1000),
    fsGroupChangePolicy: z.literal('OnRootMismatch').optional(),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z.tuple([container]),
  volumes: z.array(z.strictObject({ name: z.string(), emptyDir: z.strictObject({ sizeLimit: z.string().optional() }) })),
})
const labels = z.strictObject({ 'app.kubernetes.io/name': z.literal('snug') })
const workload = z.strictObject({
  replicas: z.number(),
  minReadySeconds: z.number().optional(),
  serviceName: z.literal('snug').optional(),
  strategy: z.unknown().optional(),
  selector: z.strictObject({ matchLabels: labels }),
  template: z.strictObject({ metadata: z.strictObject({ labels }), spec: pod }),
  volumeClaimTemplates: z.array(z.object({ metadata: z.strictObject({ name: z.string() }) })).default([]),
})
const service = z.strictObject({
  selector: labels,
  ports: z.tuple([z.strictObject({ name: z.literal('http'), port: z.literal(80), targetPort: z.literal('http') })]),
})
const shapes: Record<string, z.ZodType> = {
  'v1 Service': service,
  'policy/v1 PodDisruptionBudget': z.strictObject({ minAvailable: z.literal(1), selector: z.strictObject({ matchLabels: labels }) }),
  'apps/v1 Deployment': workload,
  'apps/v1 StatefulSet': workload,
  'networking.k8s.io/v1 Ingress': z.strictObject({ ingressClassName: z.string(), tls: z.array(z.unknown()), rules: z.array(z.unknown()) }),
}
const resource = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({ name: z.literal('snug') }),
  spec: z.unknown(),
})

const textOf = (name: string) => read(`server/platform/deploy/kubernetes/${name}.yaml`)
const resources = (name: string) =>
  parseAllDocuments(textOf(name), { uniqueKeys: true }).map((document) => {
    expect([name, document.errors]).toEqual([name, []])
    return resource.parse(document.toJS())
  })
const workloadOf = (name: string) => workload.parse(resources(name).find(({ kind }) => /Set$|Deployment/.test(kind))?.spec)
const containerOf = (name: string) => workloadOf(name).template.spec.containers[0]

/** Returns the settings in the secret that the command in the file's header creates. */
const secretKeys = (name: string) => Array.from(textOf(name).matchAll(/--from-literal=(\w+)=/g), ([, key = '']) => key)

describe.each([
  ['single', ['v1 Service', 'apps/v1 StatefulSet']],
  ['cluster', ['v1 Service', 'policy/v1 PodDisruptionBudget', 'apps/v1 Deployment']],
  ['ingress', ['networking.k8s.io/v1 Ingress']],
])('%s.yaml', (name, kinds) => {
  it('has the expected resources, with fields that exist', () => {
    expect(resources(name).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual(kinds)
    for (const { apiVersion, kind, spec } of resources(name)) shapes[`${apiVersion} ${kind}`]?.parse(spec)
  })
})

describe.each(['single', 'cluster'])('%s.yaml', (name) => {
  it('reads JWT_SECRET from a required secret that all pods share', () => {
    const found = containerOf(name).env.filter((each) => each.name === 'JWT_SECRET')
    expect(found).toEqual([{ name: 'JWT_SECRET', valueFrom: { secretKeyRef: { name: secretName, key: 'JWT_SECRET' } } }])
  })

  it('documents in its header how to create the secret with all required keys', () => {
    expect(textOf(name)).toContain(`kubectl create secret generic ${secretName} `)
    const needed = containerOf(name).env.flatMap((each) => ('valueFrom' in each ? [each.valueFrom.secretKeyRef.key] : []))
    expect(secretKeys(name)).toEqual(expect.arrayContaining(needed))
  })

  it('sets only known settings, each once, to a valid configuration', () => {
    const { env, envFrom } = containerOf(name)
    const names = env.map((each) => each.name)
    expect(names).toEqual([...new Set(names)])
    expect(unknownSettings([...names, ...secretKeys(name)])).toEqual([])
    const fromSecret = Object.fromEntries(secretKeys(name).map((key) => [key, secretValue(key)]))
    const settings = env.map((each) => [each.name, 'value' in each ? each.value : fromSecret[each.valueFrom.secretKeyRef.key]])
    const config = readConfig({ DATA_DIR: '/data', ...(envFrom.length > 0 && fromSecret), ...Object.fromEntries(settings) })
    expect(config.TRUST_PROXY).not.toBe(false)
  })

  it('mounts declared volumes, and has a grace period longer than that of the server', () => {
    const { template, volumeClaimTemplates } = workloadOf(name)
    const { volumes, terminationGracePeriodSeconds } = template.spec
    const { volumeMounts, env } = containerOf(name)
    expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/data', '/tmp'])
    const known = [...volumes.map((volume) => volume.name), ...volumeClaimTemplates.map(({ metadata }) => metadata.name)]
    expect(volumeMounts.map((mount) => mount.name).toSorted()).toEqual(known.toSorted())
    const delay = env.flatMap((each) => (each.name === 'DRAIN_DELAY_MS' && 'value' in each ? [Number(each.value)] : []))
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(Number(variables.DRAIN_TIMEOUT_MS.default) + (delay[0] ?? 0))
  })
})

it('has several pods in cluster.yaml, and bucket settings that differ between S3-compatible services', () => {
  expect(workloadOf('cluster')).toMatchObject({ replicas: 2, minReadySeconds: 5 })
  const names = containerOf('cluster').env.map((each) => each.name)
  expect(names).toEqual(expect.arrayContaining(['S3_BUCKET', 'S3_REGION', 'S3_ENDPOINT', 'S3_FORCE_PATH_STYLE']))
})

it('has one pod in single.yaml, because SQLite supports a single process', () => {
  expect(workloadOf('single').replicas).toBe(1)
})
