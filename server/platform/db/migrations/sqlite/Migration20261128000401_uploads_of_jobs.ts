import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000401_uploads_of_jobs extends Migration {
  override up() {
    // SQLite cannot make a column nullable. The table has only the uploads of the last day.
    const columns = '`id`, `created_at`, `user_id`, `expires_at`, `staged_as`, `sha256`, `bytes`, `crc32c`, `message`, `receiving_as`, `receiving_until`, `reserved_bytes`'
    this.addSql('create table `uploads_new` (`id` text not null primary key, `created_at` datetime not null, `user_id` text null, `expires_at` datetime not null, `staged_as` text null, `sha256` text null, `bytes` bigint null, `crc32c` text null, `message` text null, `receiving_as` text null, `receiving_until` datetime null, `reserved_bytes` bigint null, `ci_job_id` text null, constraint `uploads_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade, constraint `uploads_ci_job_id_foreign` foreign key (`ci_job_id`) references `ci_jobs` (`id`) on delete cascade);')
    this.addSql(`insert into \`uploads_new\` (${columns}) select ${columns} from \`uploads\`;`)
    this.addSql('drop table `uploads`;')
    this.addSql('alter table `uploads_new` rename to `uploads`;')
    this.addSql('create index `uploads_user_id_index` on `uploads` (`user_id`);')
    this.addSql('create index `uploads_ci_job_id_index` on `uploads` (`ci_job_id`);')
    this.addSql('create index `uploads_expires_at_index` on `uploads` (`expires_at`);')
    this.addSql('create index `uploads_pending` on `uploads` (`user_id`, `expires_at`) where `message` is null;')
  }
}
