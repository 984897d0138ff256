/**
 * The previous release and its last migration. During a rolling upgrade, servers of that release use the same database, so later migrations may only
 * add to the schema that it uses. Update this value when the version in package.json is raised.
 */
export const previousRelease = { version: '0.3.0', lastMigration: 'Migration20261121000081_job_tokens' }
