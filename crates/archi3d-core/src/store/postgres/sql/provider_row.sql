INSERT INTO archi3d.providers (provider) VALUES ($1) ON CONFLICT DO NOTHING
