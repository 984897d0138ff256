import { batched } from '../../platform/db/batched.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { JobRef } from '../../platform/jobs/schema.ts'
import { PackageVersion } from '../../registry/packages/entity.ts'
import { PackageVersionRef } from '../../registry/packages/refs.ts'
import { analysisKind, panaKind } from './requests.ts'

const loadVersion = batched(
  async (em, ids) => new Map((await em.find(PackageVersion, { id: { $in: ids } }, { populate: ['package'] })).map((one) => [one.id, one])),
)

builder.objectField(JobRef, 'version', (t) =>
  t.field({
    type: PackageVersionRef,
    nullable: true,
    description: 'The version to analyze. Null for other jobs, or if the version was deleted.',
    resolve: ({ kind, subject }, _args, context) => (kind === analysisKind || kind === panaKind ? loadVersion(context, subject) : null),
  }),
)
