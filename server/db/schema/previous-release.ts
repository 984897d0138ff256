/**
 * The release before this one, and the last migration that it had. Its servers work on the database beside this one's: migrations after that one
 * only add to what it uses. When the version in package.json is raised, the release that was made last is written here.
 */
export const previousRelease = { version: '0.3.0', lastMigration: 'Migration20261121000081_job_tokens' }
